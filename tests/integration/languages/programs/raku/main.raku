my @words = $*IN.slurp.words;
my $mode = @words.shift;
sub depth($n) { $n == 0 ?? 0 !! 1 + depth($n - 1) }
given $mode {
    when 'hello' { say 'héllo, wörld ✓' }
    when 'sum'   { say @words.map(*.Int).sum }
    when 'crash' { die 'crashed' }
    when 'loop'  { loop { } }
    when 'deep'  { say depth(100_000) }
    when 'hog'   { my @held; loop { @held.push: buf8.allocate(1_000_000, 1) } }
}
