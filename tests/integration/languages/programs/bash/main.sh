read -r mode
depth() { if (($1 == 0)); then result=0; else depth $(($1 - 1)); result=$((result + 1)); fi; }
case $mode in
    hello) echo "héllo, wörld ✓" ;;
    sum)
        total=0
        while read -r line; do for number in $line; do total=$((total + number)); done; done
        echo "$total"
        ;;
    crash) set -u; echo "$unset_variable" ;;
    loop) while :; do :; done ;;
    deep) depth 5000; echo "$result" ;;
    hog) held=xxxxxxxxxxxxxxxx; while :; do held=$held$held; done ;;
esac
