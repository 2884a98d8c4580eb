gets stdin mode
interp recursionlimit {} 200000
proc depth {n} { if {$n == 0} { return 0 }; return [expr {1 + [depth [expr {$n - 1}]]}] }
proc add {} {
    set total 0
    foreach number [read stdin] { incr total $number }
    return $total
}
switch $mode {
    hello { puts "héllo, wörld ✓" }
    sum { puts [add] }
    crash { error crashed }
    loop { while {1} {} }
    deep { puts [depth 10000] }
    hog { while {1} { lappend held [string repeat x[incr count] 500000] } }
}
