// Counts words of its input; needs nothing but the library that is here.
//
//	abx upload ID examples/hello-go /app/hello-go && abx exec ID -- sh -c 'cd hello-go && echo "a b a" | go run .'
package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
)

func main() {
	counts := map[string]int{}
	words := bufio.NewScanner(os.Stdin)
	words.Split(bufio.ScanWords)
	for words.Scan() {
		counts[words.Text()]++
	}
	names := []string{}
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Println(name, counts[name])
	}
}
