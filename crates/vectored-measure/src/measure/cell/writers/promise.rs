//! Whether the kernel writes each record whole, whatever other writers do.

use vectored_results::model::{CellSpec, Role, Target, TechniqueName};

/// The limit up to which a write to a pipe is not mixed with others, see `pipe(7)`.
pub(crate) const PIPE_BUF: usize = 4096;

/// File systems of which one write with `O_APPEND` is never mixed with others: they hold the lock of the inode
/// from the moment at which they find the end of the file until the bytes are copied. Network file systems know
/// the end of their own machine only, and FUSE leaves it to a program.
const APPEND_IN_ONE_PIECE: [&str; 8] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "overlay",
];

/// The most bytes that one call writes (`MAX_RW_COUNT`).
const MAX_CALL_BYTES: usize = 0x7fff_f000;

/// Whether each record of a technique (`None`: the floor) arrives whole: always if no other writer writes to the
/// target; otherwise if the technique makes one call for it and the target keeps calls apart.
pub(crate) fn whole_records_promised(
    technique: Option<TechniqueName>,
    spec: &CellSpec,
    file_system: Option<&str>,
) -> bool {
    if spec.conditions.writers == Some(1) || !spec.conditions.target.is_shared_by_writers() {
        return true;
    }
    let (count, bytes) = (spec.workload.segment_count(), spec.workload.total_bytes());
    let fits_list = count <= vectored::limits::iov_max();
    let is_one_call = bytes <= MAX_CALL_BYTES
        && match technique.map(TechniqueName::role) {
            None | Some(Role::Copy) => true,
            Some(Role::Gather | Role::Adaptive) => fits_list,
            Some(Role::Each) => count == 1,
            // A buffer of the C library is flushed whenever it is full.
            Some(_) => false,
        };
    is_one_call
        && match spec.conditions.target {
            Target::File => file_system.is_some_and(|name| APPEND_IN_ONE_PIECE.contains(&name)),
            _ => bytes <= PIPE_BUF,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vectored_results::model::Workload;

    #[test]
    fn one_call_to_an_append_file_or_a_short_one_to_a_pipe_is_whole() {
        let promised = |technique, target, (count, bytes), file_system| {
            let spec = CellSpec::write(target, Workload::uniform(count, bytes))
                .with(|asked| asked.writers = Some(2));
            whole_records_promised(technique, &spec, file_system)
        };
        let (writev, each) = (Some(TechniqueName::WRITEV), Some(TechniqueName::WRITE_EACH));
        let (ext4, file) = (Some("ext4"), Target::File);
        assert!(promised(writev, file, (1024, 1000), ext4));
        assert!(promised(None, file, (4, 1000), Some("xfs")));
        assert!(!promised(writev, file, (1025, 1000), ext4));
        assert!(!promised(writev, file, (2, 1000), Some("nfs4")));
        assert!(!promised(each, file, (2, 8), ext4));
        assert!(promised(each, file, (1, 16), ext4));
        assert!(promised(writev, Target::Pipe, (4, 1024), None));
        assert!(!promised(writev, Target::Pipe, (4, 1025), None));
        // Each writer has a connection of its own.
        let stdio = Some(TechniqueName::new("stdio"));
        assert!(promised(stdio, Target::Unix, (2000, 16), None));
        let alone = CellSpec::write(file, Workload::uniform(2000, 16))
            .with(|asked| asked.writers = Some(1));
        assert!(whole_records_promised(stdio, &alone, None));
    }
}
