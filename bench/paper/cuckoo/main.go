// A cuckoo filter compared with the core's default layout, for the measured version of Almeida's Table 5.
//
//	cuckoo [--quick] DIRECTORY
//
// The cuckoo filter is Debian's golang-github-seiflotfy-cuckoofilter-dev: fingerprints of 8 bits in buckets of four; the
// number of buckets is a power of two. The core runs in the same process, one slice of keys per call, so that the two
// can take turns.
package main

/*
#include "../paper.h"

static blx_filter *planned(uint64_t n, double fpr)
{
	blx_geometry g;
	blx_error	error;

	if (!blx_plan(BLX_PARTITIONED_BLOCKED, n, fpr, NULL, &g, &error))
		die("%s", error.message);
	return new_filter(&g);
}

static double bits_of(const blx_filter *f)
{
	blx_geometry g = blx_geometry_of(f);

	return 64.0 * (double) blx_body_words(&g);
}
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"sort"
	"time"

	cuckoo "github.com/seiflotfy/cuckoofilter"
)

const (
	slots  = 1 << 20
	keys   = slots * 95 / 100 // as full as such a filter can get
	slice  = 1 << 14
	absent = 1 << 62
)

func bytes(i uint64) []byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], i)
	return b[:]
}

type operation struct {
	name         string
	cuckoo, core func(round uint64)
}

func timed(f func(uint64), round uint64) float64 {
	start := time.Now()
	f(round)
	return float64(time.Since(start).Nanoseconds()) / slice
}

func median(values []float64) float64 {
	sorted := append([]float64(nil), values...)
	sort.Float64s(sorted)
	return sorted[len(sorted)/2]
}

func main() {
	quick := len(os.Args) > 1 && os.Args[1] == "--quick"
	rounds, probes := uint64(55), uint64(5000000)
	if quick {
		rounds, probes = 9, 300000
	}

	filter := cuckoo.NewFilter(slots)
	core := C.planned(keys, 0.0305) // the rate of the cuckoo filter: 8 slots, each of which is equal with probability 1/255
	refused := 0

	// Adding is timed while both filters fill up, because adding to a cuckoo filter gets slower towards the end.
	operations := []operation{
		{"add",
			func(r uint64) {
				for i := r * slice; i < (r+1)*slice; i++ {
					if !filter.Insert(bytes(i)) {
						refused++
					}
				}
			},
			func(r uint64) { C.add_range(core, C.uint64_t(r*slice), slice) }},
		{"absent",
			func(r uint64) {
				for i := absent + r*slice; i < absent+(r+1)*slice; i++ {
					filter.Lookup(bytes(i))
				}
			},
			func(r uint64) { C.count_true(core, C.uint64_t(absent+r*slice), slice) }},
		{"present",
			func(r uint64) {
				for i := r * slice; i < (r+1)*slice; i++ {
					filter.Lookup(bytes(i))
				}
			},
			func(r uint64) { C.count_true(core, C.uint64_t(r*slice), slice) }},
	}
	file, err := os.Create(os.Args[len(os.Args)-1] + "/table5-cuckoo.csv")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	fmt.Fprintln(file, "operation,cuckoo_ns,core_ns,ratio")
	for _, o := range operations {
		n := rounds
		if o.name == "add" {
			n = keys / slice
		}
		var theirs, ours, ratios []float64
		for r := uint64(0); r < n; r++ {
			theirs = append(theirs, timed(o.cuckoo, r))
			ours = append(ours, timed(o.core, r))
			ratios = append(ratios, theirs[r]/ours[r])
		}
		fmt.Fprintf(file, "%s,%.1f,%.1f,%.3f\n", o.name, median(theirs), median(ours), median(ratios))
	}

	positives := 0
	for i := uint64(absent); i < absent+probes; i++ {
		if filter.Lookup(bytes(i)) {
			positives++
		}
	}
	added := keys / slice * slice
	fmt.Fprintf(file, "bits a key,%.3f,%.3f,\n", 8*float64(slots)/float64(added), float64(C.bits_of(core))/float64(added))
	fmt.Fprintf(file, "rate,%.5f,%.5f,\n", float64(positives)/float64(probes),
		float64(C.count_true(core, absent, C.uint64_t(probes)))/float64(probes))
	fmt.Fprintf(file, "refused adds,%d,0,\n", refused)

	// Deleting a key that was never added, but that the filter claims to hold, deletes another key.
	deleted := 0
	for i := uint64(absent); i < absent+100000; i++ {
		if filter.Delete(bytes(i)) {
			deleted++
		}
	}
	lost := 0
	for i := uint64(0); i < uint64(added); i++ {
		if !filter.Lookup(bytes(i)) {
			lost++
		}
	}
	fmt.Fprintf(file, "keys lost to %d false deletions,%d,,\n", deleted, lost)
}
