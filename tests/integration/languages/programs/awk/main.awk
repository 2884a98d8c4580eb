function depth(n) { return n == 0 ? 0 : 1 + depth(n - 1) }
NR == 1 { mode = $1; next }
mode == "sum" { for (i = 1; i <= NF; i++) total += $i }
END {
    if (mode == "hello") print "héllo, wörld ✓"
    if (mode == "sum") print total
    if (mode == "crash") exit 3
    if (mode == "loop") while (1) turns++
    if (mode == "deep") print depth(100000)
    if (mode == "hog") while (1) held[count++] = sprintf("%100000d", count)
}
