//! The techniques: each is one value in a file of its own, and listed here.

mod adaptive;
#[cfg(any(target_os = "linux", windows))]
mod asynchronous;
#[cfg(target_os = "linux")]
mod copy_file_range;
pub(crate) mod copy_mover;
mod copy_then_write;
mod gathering;
#[cfg(target_os = "linux")]
mod in_flight;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
mod io_uring;
#[cfg(target_os = "linux")]
mod linux_aio;
#[cfg(unix)]
mod mmap;
#[cfg(unix)]
mod mmap_write;
mod read_each;
pub(crate) mod read_mover;
mod read_then_split;
mod read_write;
mod readv;
mod scattering;
#[cfg(target_os = "linux")]
mod sendfile;
#[cfg(target_os = "linux")]
mod splice;
#[cfg(unix)]
mod stdio;
mod technique;
mod write_each;
#[cfg(windows)]
mod write_file_gather;
pub(crate) mod write_mover;
mod writev;

use std::io;

#[cfg(unix)]
#[cfg(unix)]
pub(crate) use read_each::read_exact;
#[cfg(unix)]
pub use stdio::STDIO_LARGE;
pub use technique::{Costs, MakeCopyMover, MakeMover, MakeReadMover, Technique};
use vectored::CostModel;
use vectored_results::model::{CellSpec, Conditions, Experiment, Operation, Target, TechniqueName};
#[cfg(unix)]
pub(crate) use write_each::write_all;

use crate::measure::sampler::interface::Contender;
use crate::measure::techniques::copy_mover::CopyMover;
use crate::measure::techniques::read_mover::ReadMover;
use crate::measure::techniques::write_mover::Mover;

/// The techniques of this system, in the order of the tables.
pub const TECHNIQUES: &[&Technique] = &[
    &write_each::WRITE_EACH,
    &copy_then_write::COPY_THEN_WRITE,
    &writev::WRITEV,
    #[cfg(unix)]
    &stdio::STDIO,
    &read_each::READ_EACH,
    &read_then_split::READ_THEN_SPLIT,
    &readv::READV,
    #[cfg(unix)]
    &mmap::MMAP,
    #[cfg(all(
        target_os = "linux",
        target_pointer_width = "64",
        target_endian = "little"
    ))]
    &io_uring::IO_URING,
    #[cfg(target_os = "linux")]
    &linux_aio::LINUX_AIO,
    #[cfg(windows)]
    &write_file_gather::WRITE_FILE_GATHER,
    &read_write::READ_WRITE,
    #[cfg(target_os = "linux")]
    &splice::SPLICE,
    #[cfg(target_os = "linux")]
    &copy_file_range::COPY_FILE_RANGE,
    #[cfg(target_os = "linux")]
    &sendfile::SENDFILE,
    #[cfg(unix)]
    &mmap_write::MMAP_WRITE,
    &adaptive::ADAPTIVE,
];

/// The techniques of some systems, each with what the other systems lack for it.
const ELSEWHERE: [(&str, &str); 9] = [
    (
        "copy-file-range",
        "copy_file_range(2) is measured on Linux only",
    ),
    (
        "io-uring",
        "only Linux has io_uring, and vectored::uring needs a 64-bit processor there",
    ),
    ("linux-aio", "only Linux has its native AIO"),
    ("mmap", "mmap(2) is measured on Unix only"),
    ("mmap-write", "mmap(2) is measured on Unix only"),
    ("sendfile", "sendfile(2) is measured on Linux only"),
    ("splice", "only Linux has splice(2)"),
    (
        "stdio",
        "the streams of the C library are measured on Unix only",
    ),
    ("write-file-gather", "WriteFileGather is a call of Windows"),
];

/// The technique of this name, if this system has one.
pub fn technique(name: &str) -> Option<&'static Technique> {
    let mut all = TECHNIQUES.iter().copied();
    all.find(|technique| *technique.name == *name)
}

/// What this system lacks for a technique of another one, in words.
pub fn lacks_for(name: &str) -> Option<&'static str> {
    let mut elsewhere = ELSEWHERE.iter();
    let (_, lack) = elsewhere.find(|(other, _)| *other == name)?;
    technique(name).is_none().then_some(lack)
}

/// The techniques of an operation: those that are measured if none is named (`usual`), or those that are measured only
/// if they are named.
pub fn techniques(operation: Operation, usual: bool) -> Vec<TechniqueName> {
    let of_it = TECHNIQUES.iter().filter(|one| one.moves(operation));
    let of_it = of_it.filter(|one| one.usual == usual);
    of_it.map(|one| one.name).collect()
}

/// Transfers in flight: only asynchronous techniques have more than one.
pub(crate) fn depth_of(contender: Contender, queue_depth: u32) -> u32 {
    match contender {
        Contender::Technique(name) if is_in_flight(name) => queue_depth,
        _ => 1,
    }
}

/// Whether a technique keeps several transfers in flight. One that is not listed does not.
pub fn is_in_flight(name: TechniqueName) -> bool {
    technique(&name).is_some_and(|technique| technique.in_flight)
}

/// The techniques of a cell: all of the experiment that do not refuse its conditions.
pub fn techniques_of(experiment: &Experiment, cell: &CellSpec) -> Vec<TechniqueName> {
    let mut techniques = experiment.techniques();
    techniques.retain(|name| refusal(*name, &cell.conditions).is_none());
    techniques
}

/// Why a technique cannot be measured under these conditions, as the rest of a sentence that begins with its name; `None`
/// if it can. One that is not listed can.
pub fn refusal(name: TechniqueName, conditions: &Conditions) -> Option<&'static str> {
    (technique(&name)?.refuses)(conditions)
}

/// Why a technique cannot be measured on a target, whatever else is asked for.
pub(crate) fn target_refusal(name: TechniqueName, target: Target) -> Option<&'static str> {
    refusal(name, &Conditions::write(target))
}

/// Why a technique cannot be measured on the target, or between the two ends of a copy, whatever else is asked for.
pub(crate) fn ends_refusal(name: TechniqueName, asked: &Conditions) -> Option<&'static str> {
    match asked.from {
        Some(from) => refusal(name, &Conditions::copy(from, asked.target)),
        None => target_refusal(name, asked.target),
    }
}

/// Checks that this system offers a technique, with so many lists in flight.
///
/// # Errors
///
/// The reason why it does not, with the remedy.
pub fn check_available(name: TechniqueName, depth: u32) -> io::Result<()> {
    match (technique(&name), lacks_for(&name)) {
        (Some(technique), _) => (technique.offered)(depth),
        (None, Some(lack)) => Err(io::Error::new(io::ErrorKind::Unsupported, lack)),
        (None, None) => Ok(()),
    }
}

/// The mover of a contender, for a target with this cost model. The floors get
/// one segment with all bytes.
///
/// # Panics
///
/// If the technique does not write, or is not listed because it belongs to another crate.
pub fn movers(contender: Contender, model: &CostModel) -> Box<dyn Mover> {
    let listed = match contender {
        Contender::Floor | Contender::FloorAgain => Some(&write_each::WRITE_EACH),
        Contender::Technique(name) => technique(&name),
    };
    let write = listed.and_then(|technique| technique.write);
    let write = write.unwrap_or_else(|| {
        panic!(
            "no technique {contender} that writes: provide it with DescriptorSampler::with_movers"
        )
    });
    write(model)
}

/// The mover of a contender that reads, for a target with this cost model. The floors get one segment for all bytes.
///
/// # Panics
///
/// If the technique does not read, or is not listed.
pub fn read_movers(contender: Contender, model: &CostModel) -> Box<dyn ReadMover> {
    let listed = match contender {
        Contender::Floor | Contender::FloorAgain => Some(&read_each::READ_EACH),
        Contender::Technique(name) => technique(&name),
    };
    let read = listed.and_then(|technique| technique.read);
    let read = read.unwrap_or_else(|| panic!("no technique {contender} that reads"));
    read(model)
}

/// The mover of a contender that copies, under these conditions. The floors copy by `read` and `write`.
///
/// # Panics
///
/// If the technique does not copy, or is not listed.
pub fn copy_movers(contender: Contender, conditions: &Conditions) -> Box<dyn CopyMover> {
    let listed = match contender {
        Contender::Floor | Contender::FloorAgain => Some(&read_write::READ_WRITE),
        Contender::Technique(name) => technique(&name),
    };
    let copy = listed.and_then(|technique| technique.copy);
    let copy = copy.unwrap_or_else(|| panic!("no technique {contender} that copies"));
    copy(conditions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_technique_has_a_name_of_its_own_and_moves_something() {
        for (index, one) in TECHNIQUES.iter().enumerate() {
            let moves = |operation: &Operation| one.moves(*operation);
            assert!(Operation::ALL.iter().any(moves), "{}", one.name);
            let before = &TECHNIQUES[..index];
            assert!(
                before.iter().all(|other| other.name != one.name),
                "{}",
                one.name
            );
        }
    }

    #[test]
    fn what_a_system_has_it_does_not_lack() {
        let has = |(name, _): &&(&str, &str)| technique(name).is_some();
        for (name, lack) in ELSEWHERE {
            assert_eq!(lacks_for(name), technique(name).is_none().then_some(lack));
        }
        assert!(ELSEWHERE.iter().filter(has).count() < ELSEWHERE.len());
        assert_eq!(lacks_for("unheard-of"), None);
    }
}
