package millrace

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if err := Open(""); err != nil {
		println("MILLRACE_LIBRARY must name the library:", err.Error())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Case B06: Go's structs have the layout that the library was compiled with.
func TestLayout(t *testing.T) {
	for index, ours := range goLayout {
		theirs, err := libraryLayout(index)
		if err != nil {
			t.Fatal(ours, err)
		}
		if ours != theirs {
			t.Errorf("Go has %v, the library %v", ours, theirs)
		}
	}
	if entry, err := libraryLayout(len(goLayout)); err == nil {
		t.Error("the library has an entry that Go lacks:", entry)
	}
}
