// Writes lists of buffers with net.Buffers and measures the time.
//
// Standard input is a Unix stream socket that carries orders and answers.
//
// An order is a header of five little-endian 64-bit numbers, and the descriptor
// to write to (SCM_RIGHTS):
//
//  0. 1 if the descriptor is a socket
//  1. the number of calls to time
//  2. 1 if an untimed call goes before them
//  3. the number of buffers
//  4. 1 if nobody reads, so that a full descriptor stays full
//
// The sizes of the buffers follow, 64 bits each, then their bytes.
//
// The answer is four numbers: a state (0 done, 1 full, 2 an error), the wall
// time and the CPU time of the process in nanoseconds, and the length of the
// error message, which follows.
package main

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	done = iota
	full
	failed
)

// The time after which a write that nobody reads is taken to be blocked.
const patience = 50 * time.Millisecond

type order struct {
	file        *os.File
	isSocket    bool
	calls       uint64
	first       bool
	staysFull   bool
	bufferCount uint64
}

func main() {
	orders := os.NewFile(0, "orders")
	for {
		order, err := nextOrder()
		if err == io.EOF {
			return
		}
		if err != nil {
			os.Stderr.WriteString("net_buffers: " + err.Error() + "\n")
			os.Exit(1)
		}
		buffers, err := readBuffers(orders, order.bufferCount)
		if err != nil {
			os.Stderr.WriteString("net_buffers: " + err.Error() + "\n")
			os.Exit(1)
		}
		elapsed, cpu, err := order.run(buffers)
		order.file.Close()
		answer(orders, elapsed, cpu, err)
	}
}

func nextOrder() (order, error) {
	var header [40]byte
	var rights [64]byte
	count, rightsCount, _, _, err := syscall.Recvmsg(0, header[:], rights[:], syscall.MSG_WAITALL)
	if err != nil {
		return order{}, err
	}
	if count == 0 {
		return order{}, io.EOF
	}
	if count != len(header) {
		return order{}, io.ErrUnexpectedEOF
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:rightsCount])
	if err != nil || len(messages) != 1 {
		return order{}, errors.New("an order without a descriptor")
	}
	descriptors, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 1 {
		return order{}, errors.New("an order without one descriptor")
	}
	number := func(index int) uint64 { return binary.LittleEndian.Uint64(header[8*index:]) }
	return order{
		file:        os.NewFile(uintptr(descriptors[0]), "target"),
		isSocket:    number(0) == 1,
		calls:       number(1),
		first:       number(2) == 1,
		bufferCount: number(3),
		staysFull:   number(4) == 1,
	}, nil
}

// The buffers lie apart and in random order, each at a multiple of 16 bytes, as
// for the other techniques.
func readBuffers(from io.Reader, count uint64) (net.Buffers, error) {
	sizes := make([]uint64, count)
	if err := binary.Read(from, binary.LittleEndian, sizes); err != nil {
		return nil, err
	}
	places := make([]uint64, count)
	end := uint64(0)
	for _, index := range rand.Perm(int(count)) {
		places[index] = end
		end += (sizes[index]+15)/16*16 + 16
	}
	arena := make([]byte, end)
	buffers := make(net.Buffers, count)
	for index, size := range sizes {
		buffers[index] = arena[places[index] : places[index]+size : places[index]+size]
		if _, err := io.ReadFull(from, buffers[index]); err != nil {
			return nil, err
		}
	}
	return buffers, nil
}

func (order order) run(buffers net.Buffers) (time.Duration, int64, error) {
	var writer io.Writer = order.file
	if order.isSocket {
		connection, err := net.FileConn(order.file)
		if err != nil {
			return 0, 0, err
		}
		defer connection.Close()
		if order.staysFull {
			connection.SetWriteDeadline(time.Now().Add(patience))
		}
		writer = connection
	} else if order.staysFull {
		// A regular file refuses a deadline. It needs none, since it never blocks.
		_ = order.file.SetWriteDeadline(time.Now().Add(patience))
	}
	// WriteTo changes its list.
	list := make(net.Buffers, len(buffers))
	send := func() error {
		copy(list, buffers)
		rest := list
		_, err := rest.WriteTo(writer)
		return err
	}
	cpu := processNanoseconds()
	if order.first {
		if err := send(); err != nil {
			return 0, 0, err
		}
	}
	began := time.Now()
	for call := uint64(0); call < order.calls; call++ {
		if err := send(); err != nil {
			return 0, 0, err
		}
	}
	elapsed := time.Since(began)
	return elapsed, processNanoseconds() - cpu, nil
}

// clock_gettime(2) of CLOCK_PROCESS_CPUTIME_ID, which is 2.
func processNanoseconds() int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 2, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func answer(to io.Writer, elapsed time.Duration, cpu int64, err error) {
	state, message := uint64(done), ""
	if err != nil {
		state, message = failed, err.Error()
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.EAGAIN) {
			state = full
		}
	}
	bytes := make([]byte, 0, 32+len(message))
	for _, number := range []uint64{state, uint64(elapsed), uint64(cpu), uint64(len(message))} {
		bytes = binary.LittleEndian.AppendUint64(bytes, number)
	}
	if _, err := to.Write(append(bytes, message...)); err != nil {
		os.Exit(1)
	}
}
