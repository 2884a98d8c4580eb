<?php
$words = preg_split('/\s+/', trim(stream_get_contents(STDIN)));
$mode = array_shift($words);
function depth($n) { return $n === 0 ? 0 : 1 + depth($n - 1); }
switch ($mode) {
    case 'hello': echo "héllo, wörld ✓\n"; break;
    case 'sum': echo array_sum(array_map('intval', $words)), "\n"; break;
    case 'crash': throw new Exception('crashed');
    case 'loop': while (true) {}
    case 'deep': echo depth(100000), "\n"; break;
    case 'hog': $held = []; while (true) { $held[] = str_repeat('x', 1000000); }
}
