use strict;
use warnings;
no warnings 'recursion';
use List::Util qw(sum0);
my ($mode, @numbers) = split ' ', do { local $/; <STDIN> };
sub depth { my $n = shift; return $n == 0 ? 0 : 1 + depth($n - 1) }
if ($mode eq 'hello') { print "héllo, wörld ✓\n" }
elsif ($mode eq 'sum') { print sum0(@numbers), "\n" }
elsif ($mode eq 'crash') { die "crashed\n" }
elsif ($mode eq 'loop') { 1 while 1 }
elsif ($mode eq 'deep') { print depth(100000), "\n" }
elsif ($mode eq 'hog') { my @held; push @held, 'x' x 1000000 while 1 }
