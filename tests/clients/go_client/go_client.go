// The smallest useful Go program: open the library, agree on a version, normalise two rows on the
// host, look at the result and at the memory figures. Exits with 1 if anything is wrong.
package main

import (
	"fmt"
	"log"
	"math"

	"millrace"
)

func main() {
	must(millrace.Open("")) // MILLRACE_LIBRARY, beside the program, or the system's path
	major, minor := must2(millrace.Negotiate(0, 0, 1))
	context := must1(millrace.NewContext(millrace.BackendHost, 0, ""))
	stream := must1(context.NewStream())
	buffer := must1(stream.NewBuffer(2*4*4, millrace.TagActivations))
	values := []float32{3, -3, 3, -3, 1, 1, 1, 1}
	must(stream.Upload(buffer, values))

	args := millrace.NewRMSNormArgs()
	args.Input = must1(buffer.Tensor(millrace.F32, 0, 2, 4))
	args.Output = args.Input
	must(stream.RMSNorm(&args))

	must(stream.Download(values, buffer))
	for i, want := range []float64{1, -1, 1, -1, 1, 1, 1, 1} { // |x| is the root mean square
		if math.Abs(float64(values[i])-want) > 1e-6 {
			log.Fatalf("value %d is %v, not %v", i, values[i], want)
		}
	}
	stats := must1(context.MemoryStats())
	allocated := stats.Tags[millrace.TagActivations].Current // 32 bytes, rounded to a block
	if allocated < 32 || allocated > stats.Allocated.Current {
		log.Fatalf("the memory figures are wrong: %+v", stats)
	}
	fmt.Printf("go: ABI %d.%d, %d bytes allocated\n", major, minor, allocated)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must1[T any](value T, err error) T {
	must(err)
	return value
}

func must2[T, U any](first T, second U, err error) (T, U) {
	must(err)
	return first, second
}
