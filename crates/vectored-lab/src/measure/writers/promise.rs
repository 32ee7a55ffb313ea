//! Whether the kernel writes each record whole, whatever other writers do.

use crate::model::{CellSpec, Target, Technique, WriterTargets, Writers};

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
    technique: Option<Technique>,
    spec: &CellSpec,
    writers: Writers,
    file_system: Option<&str>,
) -> bool {
    if writers.count == 1 || writers.targets == WriterTargets::Own {
        return true;
    }
    let (count, bytes) = (spec.workload.segment_count(), spec.workload.total_bytes());
    let fits_list = count <= vectored::iov_max();
    let is_one_call = bytes <= MAX_CALL_BYTES
        && match technique {
            None | Some(Technique::CopyThenWrite) => true,
            Some(Technique::Writev | Technique::Pwritev2 | Technique::Adaptive) => fits_list,
            Some(Technique::WriteEach) => count == 1,
            // A buffer of the C library is flushed whenever it is full.
            Some(_) => false,
        };
    is_one_call
        && match spec.target {
            Target::File => file_system.is_some_and(|name| APPEND_IN_ONE_PIECE.contains(&name)),
            Target::Pipe => bytes <= PIPE_BUF,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Workload, WriterKind};

    #[test]
    fn one_call_to_an_append_file_or_a_short_one_to_a_pipe_is_whole() {
        let writers = |count, targets| Writers {
            count,
            kind: WriterKind::Threads,
            targets,
        };
        let promised = |technique, target, count, bytes, file_system| {
            let spec = CellSpec::write(target, Workload::uniform(count, bytes));
            let writers = writers(2, WriterTargets::Shared);
            whole_records_promised(technique, &spec, writers, file_system)
        };
        let writev = Some(Technique::Writev);
        assert!(promised(writev, Target::File, 1024, 1000, Some("ext4")));
        assert!(promised(None, Target::File, 4, 1000, Some("xfs")));
        assert!(!promised(writev, Target::File, 1025, 1000, Some("ext4")));
        assert!(!promised(writev, Target::File, 2, 1000, Some("nfs4")));
        assert!(!promised(
            Some(Technique::WriteEach),
            Target::File,
            2,
            8,
            Some("ext4")
        ));
        assert!(promised(
            Some(Technique::WriteEach),
            Target::File,
            1,
            16,
            Some("ext4")
        ));
        assert!(promised(writev, Target::Pipe, 4, 1024, None));
        assert!(!promised(writev, Target::Pipe, 4, 1025, None));
        assert!(!promised(writev, Target::Unix, 4, 16, None));
        let spec = CellSpec::write(Target::Unix, Workload::uniform(2000, 16));
        for alone in [
            writers(1, WriterTargets::Shared),
            writers(3, WriterTargets::Own),
        ] {
            assert!(whole_records_promised(
                Some(Technique::Stdio),
                &spec,
                alone,
                None
            ));
        }
    }
}
