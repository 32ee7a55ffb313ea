//! The techniques that are measured.

use vectored_results::model::TechniqueName;

/// std's `BufWriter` of 8 KiB, its default: `write_all` a segment, `flush`.
pub const BUF_WRITER: TechniqueName = TechniqueName::new("buf-writer");
/// `BufWriter` of 64 KiB.
pub const BUF_WRITER_LARGE: TechniqueName = TechniqueName::new("buf-writer-large");
/// std's `write_vectored` and `IoSlice::advance_slices`, in a loop.
pub const STD_VECTORED: TechniqueName = TechniqueName::new("std-vectored");
/// `write_all` of the crate tokio-util.
pub const TOKIO_UTIL: TechniqueName = TechniqueName::new("tokio-util");
/// `uv_try_write` of libuv, and `uv_fs_write` for files.
pub const LIBUV: TechniqueName = TechniqueName::new("libuv");
/// `evbuffer_add` and `evbuffer_write` of libevent.
pub const LIBEVENT_COPY: TechniqueName = TechniqueName::new("libevent-copy");
/// `evbuffer_add_reference` and `evbuffer_write` of libevent.
pub const LIBEVENT_REFERENCE: TechniqueName = TechniqueName::new("libevent-reference");
/// `net.Buffers` of Go, in a process of its own.
pub const GO_NET_BUFFERS: TechniqueName = TechniqueName::new("go-net-buffers");
/// `vectored_gather_write_all` of the library's C interface, called by C.
pub const C_GATHER: TechniqueName = TechniqueName::new("c-gather");
/// A loop of `writev` in C, by hand.
pub const C_WRITEV: TechniqueName = TechniqueName::new("c-writev");
/// `fwrite` a segment and `fflush` in C, with a buffer of 256 KiB.
pub const C_FWRITE: TechniqueName = TechniqueName::new("c-fwrite");
/// `write-each` a second time: the A/A control for measurements with a concurrent reader.
pub const WRITE_EACH_AGAIN: TechniqueName = TechniqueName::new("write-each-again");
/// `adaptive` with a second, independent calibration.
pub const ADAPTIVE2: TechniqueName = TechniqueName::new("adaptive-2");
/// `adaptive` with a third calibration.
pub const ADAPTIVE3: TechniqueName = TechniqueName::new("adaptive-3");
/// `stdio` of the measuring engine, with a buffer of 1 MiB.
pub const STDIO_LARGE: TechniqueName = vectored_measure::measure::STDIO_LARGE.name;

/// The techniques that a program writes by hand.
pub const BY_HAND: [TechniqueName; 3] = [
    TechniqueName::WRITE_EACH,
    TechniqueName::COPY_THEN_WRITE,
    TechniqueName::WRITEV,
];

/// The technique of the A/A control. With a reader on another CPU the same calls take different times,
/// depending on which side falls asleep; the control shows by how much.
pub const CONTROL: TechniqueName = WRITE_EACH_AGAIN;

/// `adaptive` with a first, a second and a third calibration.
pub const ADAPTIVES: [TechniqueName; 3] = [TechniqueName::ADAPTIVE, ADAPTIVE2, ADAPTIVE3];

/// The techniques of other projects, in the order of the tables.
pub const PEERS: [TechniqueName; 9] = [
    BUF_WRITER,
    BUF_WRITER_LARGE,
    STD_VECTORED,
    TOKIO_UTIL,
    STDIO_LARGE,
    LIBUV,
    LIBEVENT_COPY,
    LIBEVENT_REFERENCE,
    GO_NET_BUFFERS,
];

/// Programs of C: by the C library, and by hand. Their ratios to `adaptive` are for information.
pub const C_CALLERS: [TechniqueName; 3] = [C_GATHER, C_WRITEV, C_FWRITE];

/// All that `--peers` names.
pub fn peers_and_c_callers() -> Vec<TechniqueName> {
    [&PEERS[..], &C_CALLERS].concat()
}
