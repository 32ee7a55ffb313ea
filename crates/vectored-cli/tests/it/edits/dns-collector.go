// A collector logs each query to standard output.
package main

import (
	"bufio" // new
	"log"
	"os"
)

func main() {
	out := os.Stdout // old
	out := bufio.NewWriterSize(os.Stdout, 65536) // new
	queries := log.New(out, "", 0)
	for i := 0; i < 2000; i++ {
		queries.Printf("2026-01-01T00:00:%02d client query example%d.org A NOERROR", i%60, i)
	}
	out.Flush() // new
}
