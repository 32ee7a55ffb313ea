//! The writing functions of libuv, <https://docs.libuv.org>.
//!
//! # Safety
//!
//! `unsafe` for calling C. Each struct of libuv is memory of the size that `uv_loop_size`,
//! `uv_handle_size` or `uv_req_size` returns, at an address that does not change.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use rustix::fs::{FileType, OFlags};

use super::library::Library;

/// The file name. Its ABI version is the only one since libuv 1.0.
const NAME: &std::ffi::CStr = c"libuv.so.1";

/// A pointer to a loop, a handle or a request.
type Opaque = *mut c_void;

/// `uv_buf_t`, as it is on Unix.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Buf {
    base: *const u8,
    len: usize,
}

// Members of `uv_handle_type` and `uv_req_type` in uv.h. ABI stability means that these enumerations only
// grow at their ends.
const NAMED_PIPE: c_int = 7;
const TCP: c_int = 12;
const FS: c_int = 6;

const RUN_DEFAULT: c_int = 0;

/// The functions that are used.
#[derive(Clone, Copy, Debug)]
pub struct Uv {
    loop_size: unsafe extern "C" fn() -> usize,
    handle_size: unsafe extern "C" fn(c_int) -> usize,
    req_size: unsafe extern "C" fn(c_int) -> usize,
    loop_init: unsafe extern "C" fn(Opaque) -> c_int,
    loop_close: unsafe extern "C" fn(Opaque) -> c_int,
    run: unsafe extern "C" fn(Opaque, c_int) -> c_int,
    close: unsafe extern "C" fn(Opaque, Option<unsafe extern "C" fn(Opaque)>),
    pipe_init: unsafe extern "C" fn(Opaque, Opaque, c_int) -> c_int,
    pipe_open: unsafe extern "C" fn(Opaque, c_int) -> c_int,
    tcp_init: unsafe extern "C" fn(Opaque, Opaque) -> c_int,
    tcp_open: unsafe extern "C" fn(Opaque, c_int) -> c_int,
    set_blocking: unsafe extern "C" fn(Opaque, c_int) -> c_int,
    try_write: unsafe extern "C" fn(Opaque, *const Buf, c_uint) -> c_int,
    fs_write: FsWrite,
    fs_req_cleanup: unsafe extern "C" fn(Opaque),
}

type FsWrite = unsafe extern "C" fn(
    Opaque,
    Opaque,
    c_int,
    *const Buf,
    c_uint,
    i64,
    Option<unsafe extern "C" fn(Opaque)>,
) -> c_int;

impl Uv {
    /// Loads libuv.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded.
    pub fn load() -> Result<Self, String> {
        let library = Library::load(NAME)?;
        // SAFETY: the types equal uv.h, with `void *` for pointers to its structs.
        unsafe {
            Ok(Uv {
                loop_size: library.function(c"uv_loop_size")?,
                handle_size: library.function(c"uv_handle_size")?,
                req_size: library.function(c"uv_req_size")?,
                loop_init: library.function(c"uv_loop_init")?,
                loop_close: library.function(c"uv_loop_close")?,
                run: library.function(c"uv_run")?,
                close: library.function(c"uv_close")?,
                pipe_init: library.function(c"uv_pipe_init")?,
                pipe_open: library.function(c"uv_pipe_open")?,
                tcp_init: library.function(c"uv_tcp_init")?,
                tcp_open: library.function(c"uv_tcp_open")?,
                set_blocking: library.function(c"uv_stream_set_blocking")?,
                try_write: library.function(c"uv_try_write")?,
                fs_write: library.function(c"uv_fs_write")?,
                fs_req_cleanup: library.function(c"uv_fs_req_cleanup")?,
            })
        }
    }
}

/// Memory for a struct of libuv, with the largest alignment that C types need.
#[derive(Debug)]
struct Memory(Box<[u128]>);

impl Memory {
    fn new(bytes: usize) -> Self {
        Memory(vec![0; bytes.div_ceil(size_of::<u128>())].into())
    }

    fn pointer(&mut self) -> Opaque {
        self.0.as_mut_ptr().cast()
    }
}

#[derive(Debug)]
struct Loop {
    uv: Uv,
    memory: Memory,
}

impl Loop {
    fn new(uv: Uv) -> io::Result<Self> {
        // SAFETY: returns the size of a struct.
        let mut memory = Memory::new(unsafe { (uv.loop_size)() });
        // SAFETY: the memory is as large as a loop. It is in a box of its own, so it does not move until
        // the loop is closed.
        check(unsafe { (uv.loop_init)(memory.pointer()) })?;
        Ok(Loop { uv, memory })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // SAFETY: the loop is open, and `Writer` has closed the handle that was in it.
        unsafe { (self.uv.loop_close)(self.memory.pointer()) };
    }
}

/// The object that is written to.
#[derive(Debug)]
enum Handle {
    /// A pipe or socket. libuv closes its descriptor.
    Stream(Memory),
    /// Anything else: a descriptor, and a request for each write.
    File(OwnedFd, Memory),
}

/// A loop with one handle to write to.
#[derive(Debug)]
pub struct Writer {
    run_loop: Loop,
    handle: Handle,
    bufs: Vec<Buf>,
}

/// The kind of a descriptor, by the rules of `uv_guess_handle`.
enum Kind {
    Pipe,
    Tcp,
    File,
}

impl Writer {
    /// Opens a duplicate of `fd`. A blocking descriptor stays blocking, though libuv would change that:
    /// other techniques write to the same open file description.
    ///
    /// # Errors
    ///
    /// The error that libuv returns.
    pub fn open(uv: Uv, fd: BorrowedFd<'_>) -> io::Result<Self> {
        let waits = !rustix::fs::fcntl_getfl(fd)?.contains(OFlags::NONBLOCK);
        let kind = kind(fd)?;
        let duplicate = fd.try_clone_to_owned()?;
        let mut run_loop = Loop::new(uv)?;
        // SAFETY: returns the size of a struct.
        let stream = |kind| Memory::new(unsafe { (uv.handle_size)(kind) });
        let mut memory = match kind {
            Kind::Pipe => stream(NAMED_PIPE),
            Kind::Tcp => stream(TCP),
            Kind::File => {
                // SAFETY: returns the size of a struct.
                let request = Memory::new(unsafe { (uv.req_size)(FS) });
                return Ok(Writer {
                    run_loop,
                    handle: Handle::File(duplicate, request),
                    bufs: Vec::new(),
                });
            }
        };
        let (stream, in_loop) = (memory.pointer(), run_loop.memory.pointer());
        // SAFETY: the loop is open. The memory is as large as such a handle and does not move until `drop`
        // has closed the handle.
        check(unsafe {
            match kind {
                Kind::Pipe => (uv.pipe_init)(in_loop, stream, 0),
                _ => (uv.tcp_init)(in_loop, stream),
            }
        })?;
        // From here on the handle must be closed, also after an error.
        let writer = Writer {
            run_loop,
            handle: Handle::Stream(memory),
            bufs: Vec::new(),
        };
        // SAFETY: the handle is initialised, and the descriptor is open.
        check(unsafe {
            match kind {
                Kind::Pipe => (uv.pipe_open)(stream, duplicate.as_raw_fd()),
                _ => (uv.tcp_open)(stream, duplicate.as_raw_fd()),
            }
        })?;
        // The handle owns it now.
        let _ = duplicate.into_raw_fd();
        // SAFETY: the handle is open.
        check(unsafe { (uv.set_blocking)(stream, c_int::from(waits)) })?;
        Ok(writer)
    }

    /// Calls `uv_try_write`, or `uv_fs_write` at the descriptor's own position, until all is written.
    ///
    /// # Errors
    ///
    /// The error of the system call; `WouldBlock` if the descriptor is full.
    pub fn write_all(&mut self, segments: &[&[u8]]) -> io::Result<()> {
        self.bufs.clear();
        self.bufs.extend(segments.iter().map(|segment| Buf {
            base: segment.as_ptr(),
            len: segment.len(),
        }));
        let mut from = 0;
        while from < self.bufs.len() {
            let written = self.write_some(from)?;
            from = advance(&mut self.bufs, from, written);
        }
        Ok(())
    }

    #[inline(never)]
    fn write_some(&mut self, from: usize) -> io::Result<usize> {
        let bufs = &self.bufs[from..];
        let count = bufs.len() as c_uint;
        match &mut self.handle {
            // SAFETY: the handle is open. The buffers are parts of the segments that `write_all` has
            // borrowed. The call queues nothing, so it does not use them after it returns.
            Handle::Stream(memory) => check(unsafe {
                (self.run_loop.uv.try_write)(memory.pointer(), bufs.as_ptr(), count)
            }),
            Handle::File(fd, request) => {
                let request = request.pointer();
                // SAFETY: without a callback the call is complete when it returns (libuv's guide,
                // "Filesystem"). The memory is as large as a request, and the request is cleaned up
                // right after.
                check(unsafe {
                    let outcome = (self.run_loop.uv.fs_write)(
                        self.run_loop.memory.pointer(),
                        request,
                        fd.as_fd().as_raw_fd(),
                        bufs.as_ptr(),
                        count,
                        -1,
                        None,
                    );
                    (self.run_loop.uv.fs_req_cleanup)(request);
                    outcome
                })
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let Loop { uv, memory } = &mut self.run_loop;
        if let Handle::Stream(stream) = &mut self.handle {
            // SAFETY: loop and handle are open. `run` returns when the loop is empty, so the handle is
            // closed before the memory of either is freed.
            unsafe {
                (uv.close)(stream.pointer(), None);
                (uv.run)(memory.pointer(), RUN_DEFAULT);
            }
        }
    }
}

/// Removes the first `written` bytes of `bufs[from..]`. Returns the index of the first buffer that is not
/// empty.
fn advance(bufs: &mut [Buf], mut from: usize, mut written: usize) -> usize {
    while from < bufs.len() && written >= bufs[from].len {
        written -= bufs[from].len;
        from += 1;
    }
    if written > 0 {
        let buf = &mut bufs[from];
        buf.base = buf.base.wrapping_add(written);
        buf.len -= written;
    }
    from
}

fn kind(fd: BorrowedFd<'_>) -> io::Result<Kind> {
    match FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
        FileType::Fifo => Ok(Kind::Pipe),
        FileType::Socket => match rustix::net::sockopt::socket_domain(fd)? {
            rustix::net::AddressFamily::UNIX => Ok(Kind::Pipe),
            _ => Ok(Kind::Tcp),
        },
        _ => Ok(Kind::File),
    }
}

/// Converts a result of libuv, whose errors are negated error numbers of the kernel.
fn check(outcome: c_int) -> io::Result<usize> {
    usize::try_from(outcome).map_err(|_| io::Error::from_raw_os_error(-outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_write_is_resumed_where_it_ended() {
        let segments: [&[u8]; 4] = [b"abc", b"", b"defg", b"h"];
        let total: usize = segments.iter().map(|segment| segment.len()).sum();
        for written in 0..=total {
            let mut bufs = segments.map(|segment| Buf {
                base: segment.as_ptr(),
                len: segment.len(),
            });
            let from = advance(&mut bufs, 0, written);
            let left: usize = bufs[from..].iter().map(|buf| buf.len).sum();
            assert_eq!(left, total - written);
            if let Some(buf) = bufs.get(from) {
                let whole = segments[from];
                let skipped = whole.len() - buf.len;
                assert_eq!(buf.base, whole[skipped..].as_ptr(), "{written}");
            }
        }
    }
}
