package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strings"
)

var turns int

func depth(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + depth(n-1)
}

func main() {
	in := bufio.NewReader(os.Stdin)
	var mode string
	fmt.Fscan(in, &mode)
	switch mode {
	case "hello":
		fmt.Println(strings.Join([]string{"héllo", "wörld ✓"}, ", "))
	case "sum":
		total, number := 0, 0
		for {
			if _, err := fmt.Fscan(in, &number); err != nil {
				break
			}
			total += number
		}
		fmt.Println(total)
	case "crash":
		fmt.Println([]int{}[sort.SearchInts(nil, 1)])
	case "loop":
		for {
			turns++
		}
	case "deep":
		fmt.Println(depth(100000))
	case "hog":
		held := [][]byte{}
		for {
			block := make([]byte, 1000000)
			for i := range block {
				block[i] = 'x'
			}
			held = append(held, block)
		}
	}
}
