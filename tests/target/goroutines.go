// goroutines.go - maps, sorting and JSON in four goroutines. goroutines SECONDS
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

type record struct {
	A int
	B string
	C []float64
}

func work() int {
	m := map[string]int{}
	for i := 0; i < 1000; i++ {
		m[strconv.Itoa(i)] = i
	}
	var all []int
	for k, v := range m {
		all = append(all, v+len(k))
	}
	sort.Ints(all)
	text, _ := json.Marshal(record{3, strings.Repeat("x", 50), []float64{1, 2, 3}})
	var r record
	json.Unmarshal(text, &r)
	return len(fmt.Sprintf("%v %d", r, all[0]))
}

func main() {
	seconds := 1.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	start := time.Now()
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for time.Since(start).Seconds() < seconds {
				work()
			}
		}()
	}
	all.Wait()
}
