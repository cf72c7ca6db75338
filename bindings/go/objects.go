package millrace

// #include <stdlib.h>
// #include "millrace_loader.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Context is a device made ready for work.
type Context struct{ handle *C.mr_context }

// NewContext opens a device: Backend..., its ordinal, and options as context.h lists them ("" for
// none).
func NewContext(backend uint32, ordinal int32, options string) (*Context, error) {
	var err C.mr_error
	text := C.CString(options)
	defer C.free(unsafe.Pointer(text))
	// The struct holds a pointer to C memory only, so cgo has nothing to pin.
	config := C.mr_context_config{
		struct_size: C.sizeof_mr_context_config,
		backend:     C.uint32_t(backend),
		ordinal:     C.int32_t(ordinal),
		options:     text,
	}
	c := &Context{}
	if err := result(C.mr_context_create(&config, &c.handle, &err), &err); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(c, (*Context).Close)
	return c, nil
}

// Close gives up the reference. What was made from the context stays usable.
func (c *Context) Close() {
	C.mr_context_release(c.handle)
	c.handle = nil
	runtime.SetFinalizer(c, nil)
}

// MemoryStats reads the figures of the context's memory.
func (c *Context) MemoryStats() (MemoryStats, error) {
	var err C.mr_error
	stats := NewMemoryStats()
	memory := C.mr_context_memory(c.handle)
	code := C.mr_memory_get_stats(memory, (*C.mr_memory_stats)(unsafe.Pointer(&stats)), &err)
	runtime.KeepAlive(c)
	return stats, result(code, &err)
}

// Device describes the context's device.
func (c *Context) Device() (DeviceInfo, error) {
	var err C.mr_error
	info := NewDeviceInfo()
	code := C.mr_context_device(c.handle, (*C.mr_device_info)(unsafe.Pointer(&info)), &err)
	runtime.KeepAlive(c)
	return info, result(code, &err)
}

// Stream is a queue of device work.
type Stream struct{ handle *C.mr_stream }

func newStream(handle *C.mr_stream) *Stream {
	s := &Stream{handle}
	runtime.SetFinalizer(s, (*Stream).Close)
	return s
}

// NewStream makes a stream of the library's own.
func (c *Context) NewStream() (*Stream, error) {
	var err C.mr_error
	var handle *C.mr_stream
	code := C.mr_stream_create(c.handle, nil, &handle, &err)
	runtime.KeepAlive(c)
	if err := result(code, &err); err != nil {
		return nil, err
	}
	return newStream(handle), nil
}

// WrapStream borrows a stream of the host application, for example a cudaStream_t.
func (c *Context) WrapStream(native unsafe.Pointer) (*Stream, error) {
	var err C.mr_error
	var handle *C.mr_stream
	code := C.mr_stream_wrap(c.handle, native, nil, &handle, &err)
	runtime.KeepAlive(c)
	if err := result(code, &err); err != nil {
		return nil, err
	}
	return newStream(handle), nil
}

// Close gives up the reference; the last one of a created stream waits for its work.
func (s *Stream) Close() {
	C.mr_stream_release(s.handle)
	s.handle = nil
	runtime.SetFinalizer(s, nil)
}

// Synchronize waits until all enqueued work is done.
func (s *Stream) Synchronize() error {
	var err C.mr_error
	code := C.mr_stream_synchronize(s.handle, &err)
	runtime.KeepAlive(s)
	return result(code, &err)
}

// Buffer is device memory that is freed in the order of the stream that it was made on. The methods
// of Stream declare their use of a buffer; an operator that uses one on another stream needs UsedOn
// before.
type Buffer struct {
	handle *C.mr_buffer
	home   *C.mr_stream // only compared
}

// NewBuffer allocates device memory; tag is Tag... and says what it is for.
func (s *Stream) NewBuffer(bytes uint64, tag uint32) (*Buffer, error) {
	var err C.mr_error
	b := &Buffer{home: s.handle}
	code := C.mr_buffer_create(s.handle, C.uint64_t(bytes), C.MR_MEMORY_DEVICE, C.uint32_t(tag), &b.handle, &err)
	runtime.KeepAlive(s)
	if err := result(code, &err); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(b, (*Buffer).Close)
	return b, nil
}

// Close gives up the reference; the memory is free once the streams that use it have passed.
func (b *Buffer) Close() {
	C.mr_buffer_release(b.handle)
	b.handle = nil
	runtime.SetFinalizer(b, nil)
}

// Bytes returns the size.
func (b *Buffer) Bytes() uint64 {
	bytes := C.mr_buffer_bytes(b.handle)
	runtime.KeepAlive(b)
	return uint64(bytes)
}

// Tensor describes a row-major tensor at byte offset of the buffer. The buffer must be kept, for
// example by runtime.KeepAlive, until what uses the tensor has been enqueued.
func (b *Buffer) Tensor(dtype DType, offset uint64, shape ...int64) (Tensor, error) {
	var err C.mr_error
	var out Tensor
	address := uintptr(C.mr_buffer_data(b.handle)) + uintptr(offset)
	var sizes *C.int64_t
	if len(shape) > 0 {
		sizes = (*C.int64_t)(unsafe.Pointer(&shape[0]))
	}
	code := C.mr_tensor_pack(nil, C.mr_dtype(dtype), C.int32_t(len(shape)), sizes, (*C.mr_tensor)(unsafe.Pointer(&out)), &err)
	if err := result(code, &err); err != nil {
		return Tensor{}, err
	}
	bytes := uint64(dtype>>8&0xff) * uint64(dtype>>16) / 8
	for _, size := range shape {
		bytes *= uint64(size)
	}
	if size := b.Bytes(); offset > size || bytes > size-offset {
		text := fmt.Sprintf("shape: %d bytes at offset %d leave the buffer of %d", bytes, offset, size)
		return Tensor{}, &Failure{Code: InvalidArgument, Text: text}
	}
	out.Data = address
	return out, nil
}

// UsedOn declares that s works with the buffer too.
func (b *Buffer) UsedOn(s *Stream) error {
	if s.handle == b.home {
		return nil
	}
	var err C.mr_error
	code := C.mr_buffer_use(b.handle, s.handle, &err)
	runtime.KeepAlive(b)
	runtime.KeepAlive(s)
	return result(code, &err)
}

// place checks a range of b and declares its use on s.
func (s *Stream) place(b *Buffer, bytes uint64) (unsafe.Pointer, error) {
	if size := b.Bytes(); bytes > size {
		text := fmt.Sprintf("%d bytes leave the buffer of %d", bytes, size)
		return nil, &Failure{Code: InvalidArgument, Text: text}
	}
	return C.mr_buffer_data(b.handle), b.UsedOn(s)
}

// Upload copies values to the start of the buffer and waits.
func (s *Stream) Upload(to *Buffer, from []float32) error {
	if len(from) == 0 {
		return nil
	}
	bytes := uint64(len(from)) * 4
	address, failure := s.place(to, bytes)
	if failure != nil {
		return failure
	}
	var err C.mr_error
	code := C.mr_upload(s.handle, address, unsafe.Pointer(&from[0]), C.uint64_t(bytes), &err)
	runtime.KeepAlive(s)
	runtime.KeepAlive(to)
	return result(code, &err)
}

// Download fills values from the start of the buffer and waits.
func (s *Stream) Download(to []float32, from *Buffer) error {
	if len(to) == 0 {
		return nil
	}
	bytes := uint64(len(to)) * 4
	address, failure := s.place(from, bytes)
	if failure != nil {
		return failure
	}
	var err C.mr_error
	code := C.mr_download(s.handle, unsafe.Pointer(&to[0]), address, C.uint64_t(bytes), &err)
	runtime.KeepAlive(s)
	runtime.KeepAlive(from)
	return result(code, &err)
}

// Fill sets every byte of the buffer in stream order.
func (s *Stream) Fill(b *Buffer, value byte) error {
	address, failure := s.place(b, 0)
	if failure != nil {
		return failure
	}
	var err C.mr_error
	code := C.mr_fill(s.handle, address, C.uint32_t(value), C.uint64_t(b.Bytes()), &err)
	runtime.KeepAlive(s)
	runtime.KeepAlive(b)
	return result(code, &err)
}

// Copy copies the whole of from over the start of to in stream order.
func (s *Stream) Copy(to, from *Buffer) error {
	source, failure := s.place(from, 0)
	if failure != nil {
		return failure
	}
	target, failure := s.place(to, from.Bytes())
	if failure != nil {
		return failure
	}
	var err C.mr_error
	code := C.mr_copy(s.handle, target, source, C.uint64_t(from.Bytes()), C.MR_COPY_ON_DEVICE, &err)
	runtime.KeepAlive(s)
	runtime.KeepAlive(to)
	runtime.KeepAlive(from)
	return result(code, &err)
}
