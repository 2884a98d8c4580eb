mode, *numbers = $stdin.read.split
def depth(n) = n.zero? ? 0 : 1 + depth(n - 1)
case mode
when "hello" then puts "héllo, wörld ✓"
when "sum" then puts numbers.sum(&:to_i)
when "crash" then raise "crashed"
when "loop" then loop {}
when "deep" then puts depth(100_000)
when "hog"
  held = []
  loop { held << "x" * 1_000_000 }
end
