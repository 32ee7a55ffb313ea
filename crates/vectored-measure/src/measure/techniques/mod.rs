//! The techniques: each is one value, listed here.

mod adaptive;
mod copies;
#[cfg(target_os = "linux")]
mod in_flight;
#[cfg(target_os = "linux")]
mod kernel_copies;
#[cfg(unix)]
mod mapped;
mod movers;
mod plain;
mod reads;
#[cfg(unix)]
mod stdio;
mod technique;
mod writes;

pub use movers::{CopyMover, Mover, ReadMover};
#[cfg(unix)]
pub(crate) use plain::{read_exact, write_all};
#[cfg(unix)]
pub use stdio::STDIO_LARGE;
pub use technique::{Costs, Make, Technique};
use vectored::CostModel;
use vectored_results::model::{CellSpec, Conditions, Experiment, Operation, TechniqueName};

use crate::measure::sampler::Contender;

/// The techniques of this system, in the order of the tables.
pub const TECHNIQUES: &[&Technique] = &[
    &writes::WRITE_EACH,
    &writes::COPY_THEN_WRITE,
    &writes::WRITEV,
    #[cfg(unix)]
    &stdio::STDIO,
    &reads::READ_EACH,
    &reads::READ_THEN_SPLIT,
    &reads::READV,
    #[cfg(unix)]
    &mapped::MMAP,
    #[cfg(all(
        target_os = "linux",
        target_pointer_width = "64",
        target_endian = "little"
    ))]
    &in_flight::IO_URING,
    #[cfg(target_os = "linux")]
    &in_flight::LINUX_AIO,
    &copies::READ_WRITE,
    #[cfg(target_os = "linux")]
    &kernel_copies::SPLICE,
    #[cfg(target_os = "linux")]
    &kernel_copies::COPY_FILE_RANGE,
    #[cfg(target_os = "linux")]
    &kernel_copies::SENDFILE,
    #[cfg(unix)]
    &mapped::MMAP_WRITE,
    &adaptive::ADAPTIVE,
];

pub fn technique(name: &str) -> Option<&'static Technique> {
    let mut all = TECHNIQUES.iter().copied();
    all.find(|technique| *technique.name == *name)
}

/// The techniques of an operation. With `usual`, the techniques that are measured if none is named; without, the techniques
/// that are measured only if they are named.
pub fn techniques(operation: Operation, usual: bool) -> Vec<TechniqueName> {
    let of_it = TECHNIQUES.iter().filter(|one| one.moves(operation));
    let of_it = of_it.filter(|one| one.usual == usual);
    of_it.map(|one| one.name).collect()
}

pub(crate) fn depth_of(contender: Contender, queue_depth: u32) -> u32 {
    match contender {
        Contender::Technique(name) if is_in_flight(name) => queue_depth,
        _ => 1,
    }
}

/// Whether a technique keeps several transfers in flight. A technique that is not listed does not.
pub fn is_in_flight(name: TechniqueName) -> bool {
    technique(&name).is_some_and(|technique| technique.in_flight)
}

/// The techniques of a cell: all techniques of the experiment that do not refuse the conditions of the cell.
pub fn techniques_of(experiment: &Experiment, cell: &CellSpec) -> Vec<TechniqueName> {
    let mut techniques = experiment.techniques();
    techniques.retain(|name| refusal(*name, &cell.conditions).is_none());
    techniques
}

/// Why a technique cannot be measured under these conditions, as the rest of a sentence that begins with the technique's
/// name; `None` if the technique can be measured. A technique that is not listed can be measured.
pub fn refusal(name: TechniqueName, conditions: &Conditions) -> Option<&'static str> {
    (technique(&name)?.refuses)(conditions)
}

/// Why a technique cannot be measured on the target, or between the two ends of a copy, whatever else is asked for.
pub(crate) fn ends_refusal(name: TechniqueName, asked: &Conditions) -> Option<&'static str> {
    match asked.from {
        Some(from) => refusal(name, &Conditions::copy(from, asked.target)),
        None => refusal(name, &Conditions::write(asked.target)),
    }
}

/// The technique of a contender: the floors write and read one segment with all bytes, and copy by `read` and `write`.
pub(crate) fn listed(contender: Contender, operation: Operation) -> &'static Technique {
    let of_floor = match operation {
        Operation::Write => &writes::WRITE_EACH,
        Operation::Read => &reads::READ_EACH,
        Operation::Copy => &copies::READ_WRITE,
    };
    let listed = match contender {
        Contender::Floor | Contender::FloorAgain => Some(of_floor),
        Contender::Technique(name) => technique(&name),
    };
    listed
        .unwrap_or_else(|| panic!("{contender} is not listed: use DescriptorSampler::with_movers"))
}

const OTHER: &str = "a technique of another operation";

/// The mover of a contender, for a target with this cost model.
pub fn movers(contender: Contender, model: &CostModel) -> Box<dyn Mover> {
    (listed(contender, Operation::Write).write.expect(OTHER))(model)
}

pub fn read_movers(contender: Contender, model: &CostModel) -> Box<dyn ReadMover> {
    (listed(contender, Operation::Read).read.expect(OTHER))(model)
}

pub fn copy_movers(contender: Contender, conditions: &Conditions) -> Box<dyn CopyMover> {
    (listed(contender, Operation::Copy).copy.expect(OTHER))(conditions)
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
}
