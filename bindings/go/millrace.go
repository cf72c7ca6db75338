// Package millrace is a layer over millrace's C interface that needs no library at link time.
//
//	millrace.Open("")                                    // finds and opens libmillrace
//	context, err := millrace.NewContext(millrace.BackendAuto, 0, "")
//	stream, err := context.NewStream()
//	buffer, err := stream.NewBuffer(4096, millrace.TagOther)
//
// Objects are counted references. Close gives one up at once; otherwise the garbage collector does,
// in any order, because the library keeps alive what an object depends on. A Context, a Memory and a
// Buffer may be used by any goroutine at once, a Stream by one at a time, on whatever thread.
//
// Operators take an argument struct, for example RMSNormArgs, whose tensors hold device addresses:
// those of buffers, never of Go memory. The C headers in include/millrace describe every field.
package millrace

// #cgo CFLAGS: -std=c99 -I${SRCDIR}/../../include -I${SRCDIR}/../loader
// #cgo LDFLAGS: -ldl -lpthread
// #include <stdlib.h>
// #include "millrace_loader.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Status is a result code, MR_... of millrace/status.h.
type Status int32

// DType is a data type in DLPack's numbering.
type DType uint32

func (s Status) String() string { return C.GoString(C.mr_status_name(C.mr_status(s))) }

// Failure is a failed call: the library's code and its sentence, which names argument, value and
// limit.
type Failure struct {
	Code       Status
	Domain     uint32
	NativeCode int32
	Flags      uint32
	Text       string
}

func (f *Failure) Error() string { return fmt.Sprintf("%v: %s", f.Code, f.Text) }

// result turns a status into an error.
func result(code C.mr_status, err *C.mr_error) error {
	if code == C.MR_OK {
		return nil
	}
	return &Failure{
		Code:       Status(code),
		Domain:     uint32(err.domain),
		NativeCode: int32(err.native_code),
		Flags:      uint32(err.flags),
		Text:       C.GoString(&err.text[0]),
	}
}

// Open finds the library, checks its ABI version and connects this package to it. An empty path
// looks at MILLRACE_LIBRARY, beside the program, and on the system's search path; see
// millrace_loader.h.
func Open(path string) error {
	var err C.mr_error
	if path == "" {
		return result(C.mrl_open(nil, &err), &err)
	}
	file := C.CString(path)
	defer C.free(unsafe.Pointer(file))
	return result(C.mrl_open(file, &err), &err)
}

// Path returns the file of the open library.
func Path() string { return C.GoString(C.mrl_path()) }

// Version returns the library's version, major * 10000 + minor * 100 + patch; 0 before Open.
func Version() uint32 { return uint32(C.mr_version()) }

// Negotiate asks the library for an ABI version from majorMin.minorMin to the last of majorMax and
// returns its own. Open has done so for this package; a program may ask for more.
func Negotiate(majorMin, majorMax, minorMin uint32) (major, minor uint32, err error) {
	var report C.mr_error
	var api *C.mr_api
	code := C.mr_get_api(C.uint32_t(majorMin), C.uint32_t(majorMax), C.uint32_t(minorMin), &api, &report)
	if err := result(code, &report); err != nil {
		return 0, 0, err
	}
	return uint32(api.abi_major), uint32(api.abi_minor), nil
}

// Probe says what the library is and what it found on this machine.
func Probe() (ProbeInfo, error) {
	var err C.mr_error
	info := NewProbeInfo()
	return info, result(C.mr_probe((*C.mr_probe_info)(unsafe.Pointer(&info)), &err), &err)
}

// layoutEntry is one row of mr_abi_layout.
type layoutEntry struct {
	structName, fieldName string
	offset, size          uintptr
}

func libraryLayout(index int) (layoutEntry, error) {
	var err C.mr_error
	var structName, fieldName *C.char
	var offset, size C.uint32_t
	code := C.mr_abi_layout(C.uint32_t(index), &structName, &fieldName, &offset, &size, &err)
	if err := result(code, &err); err != nil {
		return layoutEntry{}, err
	}
	return layoutEntry{C.GoString(structName), C.GoString(fieldName), uintptr(offset), uintptr(size)}, nil
}
