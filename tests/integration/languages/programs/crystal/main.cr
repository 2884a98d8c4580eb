def depth(n : Int32) : Int32
  n == 0 ? 0 : 1 + depth(n - 1)
end

words = STDIN.gets_to_end.split
turns = 0_u8
case words[0]
when "hello" then puts "héllo, wörld ✓"
when "sum"   then puts words[1..].sum(&.to_i64)
when "crash" then raise "crashed"
when "loop"  then loop { turns &+= 1 }
when "deep"  then puts depth(100_000)
when "hog"
  held = [] of Bytes
  loop { held << Bytes.new(1_000_000, 1_u8) }
end
