package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"millrace"
)

func TestMain(m *testing.M) {
	must(millrace.Open(""))
	os.Exit(m.Run())
}

// onBothKinds runs a test with host streams that run inline and ones with a thread of their own.
func onBothKinds(t *testing.T, test func(t *testing.T, context *millrace.Context)) {
	for _, kind := range []string{"inline", "deferred"} {
		t.Run(kind, func(t *testing.T) {
			test(t, must1(millrace.NewContext(millrace.BackendHost, 0, "host.streams="+kind)))
		})
	}
}

func fourOnes(stream *millrace.Stream) *millrace.Buffer {
	buffer := must1(stream.NewBuffer(16, millrace.TagActivations))
	must(stream.Upload(buffer, []float32{7, 7, 7, 7}))
	args := millrace.NewRMSNormArgs()
	args.Input = must1(buffer.Tensor(millrace.F32, 0, 1, 4))
	args.Output = args.Input
	must(stream.RMSNorm(&args))
	return buffer
}

func expect(t *testing.T, stream *millrace.Stream, buffer *millrace.Buffer, want float32) {
	t.Helper()
	values := make([]float32, buffer.Bytes()/4)
	must(stream.Download(values, buffer))
	for i, value := range values {
		if value != want {
			t.Fatalf("value %d is %v, not %v", i, value, want)
		}
	}
}

// Case B01: 1000 calls with argument structs in Go memory while the collector runs all the time.
// Run with GODEBUG=cgocheck=1.
func TestCallsWhileTheCollectorRuns(t *testing.T) {
	onBothKinds(t, func(t *testing.T, context *millrace.Context) {
		done := make(chan struct{})
		var collector sync.WaitGroup
		collector.Add(1)
		go func() {
			defer collector.Done()
			for {
				select {
				case <-done:
					return
				default:
					runtime.GC()
				}
			}
		}()
		stream := must1(context.NewStream())
		for i := 0; i < 1000; i++ {
			buffer := fourOnes(stream)
			if i%100 == 0 {
				expect(t, stream, buffer, 1)
			}
		}
		close(done)
		collector.Wait()
		must(stream.Synchronize())
	})
}

// Case B03: the last reference to the source of a copy goes while the copy is queued; its memory is
// not handed out again, to the same stream or another, before the copy has read it.
func TestBufferDroppedWhileItsWorkIsQueued(t *testing.T) {
	const bytes = 8 << 20
	onBothKinds(t, func(t *testing.T, context *millrace.Context) {
		stream := must1(context.NewStream())
		other := must1(context.NewStream())
		target := must1(stream.NewBuffer(bytes, millrace.TagOther))
		for _, next := range []*millrace.Stream{other, stream} {
			source := must1(stream.NewBuffer(bytes, millrace.TagOther))
			must(stream.Fill(source, 0)) // zeros: 0.0
			must(stream.Synchronize())
			held := must1(context.MemoryStats()).Requested.Current
			for delay := 0; delay < 200; delay++ {
				must(stream.Fill(target, 7))
			}
			must(stream.Copy(target, source))
			source = nil
			for must1(context.MemoryStats()).Requested.Current == held {
				runtime.GC() // until the finalizer has run
			}
			again := must1(next.NewBuffer(bytes, millrace.TagOther))
			must(next.Fill(again, 9))
			expect(t, stream, target, 0)
			runtime.KeepAlive(again)
		}
	})
}

// Objects are closed parents first; what remains works, and late closes are clean.
func TestClosedInAnyOrder(t *testing.T) {
	onBothKinds(t, func(t *testing.T, context *millrace.Context) {
		stream := must1(context.NewStream())
		other := must1(context.NewStream())
		context.Close()
		buffer := fourOnes(stream)
		must(stream.Synchronize())
		stream.Close()
		expect(t, other, buffer, 1)
		other.Close()
		buffer.Close()
		buffer.Close() // closing twice is harmless
	})
}

// A stream may be used from whatever OS thread a goroutine is on, one at a time.
func TestStreamHopsBetweenThreads(t *testing.T) {
	onBothKinds(t, func(t *testing.T, context *millrace.Context) {
		stream := must1(context.NewStream())
		turn := make(chan error)
		for i := 0; i < 64; i++ {
			go func() {
				runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
				buffer := fourOnes(stream)
				values := make([]float32, 4)
				err := stream.Download(values, buffer)
				if err == nil && values[3] != 1 {
					err = fmt.Errorf("the result is %v", values)
				}
				turn <- err
			}()
			must(<-turn)
		}
	})
}

// A refused call is an error with code and text, and changes nothing.
func TestFailure(t *testing.T) {
	onBothKinds(t, func(t *testing.T, context *millrace.Context) {
		stream := must1(context.NewStream())
		args := millrace.NewRMSNormArgs()
		failure, ok := stream.RMSNorm(&args).(*millrace.Failure)
		if !ok || failure.Code != millrace.InvalidArgument || failure.Text == "" {
			t.Fatalf("an absent input gave %v", failure)
		}
		if _, _, err := millrace.Negotiate(7, 9, 0); err.(*millrace.Failure).Code != millrace.VersionMismatch {
			t.Fatal("ABI 7 to 9 gave", err)
		}
	})
}
