//! The techniques that are measured.

use vectored_lab::model::Technique;

/// The techniques that a program writes by hand.
pub const BY_HAND: [Technique; 3] = [
    Technique::WriteEach,
    Technique::CopyThenWrite,
    Technique::Writev,
];

/// The technique of the A/A control. With a reader on another CPU the same calls take different times,
/// depending on which side falls asleep; the control shows by how much.
pub const CONTROL: Technique = Technique::WriteEachAgain;

/// `adaptive` with a first, a second and a third calibration.
pub const ADAPTIVES: [Technique; 3] = [
    Technique::Adaptive,
    Technique::Adaptive2,
    Technique::Adaptive3,
];

/// The techniques of other projects, in the order of the tables.
pub const PEERS: [Technique; 9] = [
    Technique::BufWriter,
    Technique::BufWriterLarge,
    Technique::StdVectored,
    Technique::TokioUtil,
    Technique::StdioLarge,
    Technique::Libuv,
    Technique::LibeventCopy,
    Technique::LibeventReference,
    Technique::GoNetBuffers,
];

/// Programs of C: by the C library, and by hand. Their ratios to `adaptive` are for information.
pub const C_CALLERS: [Technique; 3] = [Technique::CGather, Technique::CWritev, Technique::CFwrite];

/// All that `--peers` names.
pub fn peers_and_c_callers() -> Vec<Technique> {
    [&PEERS[..], &C_CALLERS].concat()
}
