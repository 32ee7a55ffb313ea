//! The extracts that are built into the program: those of `docs/machines`.

use crate::model::Machine;
use crate::report::fleet::json::parse_machine;

/// Copies of the files of `docs/machines`, since a published crate has only the files below its own folder.
const FILES: [(&str, &str); 2] = [
    (
        "epyc-vm-cold.json",
        include_str!("../../../machines/epyc-vm-cold.json"),
    ),
    (
        "epyc-vm-hot.json",
        include_str!("../../../machines/epyc-vm-hot.json"),
    ),
];

/// The extracts of `docs/machines`.
pub fn known_machines() -> Vec<Machine> {
    let read = |(name, text): &(&str, &str)| match parse_machine(text) {
        Ok(machine) => machine,
        Err(error) => panic!("{name}, which a test reads, cannot be read: {error}"),
    };
    FILES.iter().map(read).collect()
}
