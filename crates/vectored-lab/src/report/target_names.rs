//! Titles of sections and notes on targets.

use crate::model::{
    Cache, Cell, Conditions, DirectIo, IovecSetup, Layout, Operation, Results, SyncMode, Target,
    Technique,
};
use crate::text::format::{bytes_in_words, count, escape_control, grouped};

/// The conditions of these cells, each once: the sections of a report, in their order.
pub(crate) fn sections<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Vec<&'a Conditions> {
    let mut all: Vec<&Conditions> = cells.into_iter().map(|cell| &cell.conditions).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Titles of sections. A state of caches or lists is named if it is not the default, or if sections differ
/// in it.
#[derive(Default)]
pub(crate) struct Titles {
    cache_varies: bool,
    layout_varies: bool,
    iovec_setup_varies: bool,
    queue_depth_varies: bool,
}

impl Titles {
    pub fn among<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Self {
        let mut titles = Titles::default();
        let mut all = cells.into_iter().map(|cell| &cell.conditions);
        if let Some(first) = all.next() {
            for key in all {
                titles.cache_varies |= key.cache != first.cache;
                titles.layout_varies |= key.layout != first.layout;
                titles.iovec_setup_varies |= key.iovec_setup != first.iovec_setup;
                titles.queue_depth_varies |= key.queue_depth != first.queue_depth;
            }
        }
        titles
    }

    /// `file`, `file read hot`, `file-overwrite fsync`, `fifo /tmp/x`,
    /// `pipe, cache cold, layout adjacent`.
    pub fn of(&self, kind: &Conditions) -> String {
        let mut words = vec![place(kind.target, kind.path.as_deref())];
        if kind.operation == Operation::Read {
            words.push("read".to_owned());
        }
        words.extend(kind.page_cache.map(|state| state.to_string()));
        if kind.sync != SyncMode::None {
            words.push(kind.sync.to_string());
        }
        if kind.direct {
            words.push("O_DIRECT".to_owned());
        }
        let mut title = words.join(" ");
        for (option, name, is_named) in [
            (
                "cache",
                kind.cache.name(),
                self.cache_varies || kind.cache != Cache::default(),
            ),
            (
                "layout",
                kind.layout.name(),
                self.layout_varies || kind.layout != Layout::default(),
            ),
            (
                "iovec-setup",
                kind.iovec_setup.name(),
                self.iovec_setup_varies || kind.iovec_setup != IovecSetup::default(),
            ),
        ] {
            if is_named {
                title += &format!(", {option} {name}");
            }
        }
        if self.queue_depth_varies || kind.queue_depth != 1 {
            title += &format!(", queue depth {}", kind.queue_depth);
        }
        if let Some(writers) = kind.writers {
            title += &format!(", {}", count(writers as usize, "writer"));
        }
        if let Some(ranks) = kind.ranks {
            title += &format!(", {}", counted_ranks(ranks));
        }
        title
    }
}

/// `1 rank`, `4 ranks`.
pub(crate) fn counted_ranks(ranks: u32) -> String {
    match ranks {
        1 => "1 rank".to_owned(),
        _ => format!("{} ranks", grouped(ranks.into())),
    }
}

/// A target, with its path if it was given by path.
pub(crate) fn place(target: Target, path: Option<&str>) -> String {
    match path {
        None => target.to_string(),
        Some(path) => format!("{target} {}", escape_control(path)),
    }
}

/// Whether the gather tax is meaningful for the target of `cell`: `/dev/null` reads no byte, so its floor
/// does not grow with the list.
pub(crate) fn has_tax(cell: &Cell) -> bool {
    cell.conditions.target != Target::Null
}

/// Notes on the targets of these results.
pub(crate) fn notes(results: &Results) -> Vec<String> {
    let any = |is: &dyn Fn(&Cell) -> bool| results.cells.iter().any(is);
    let mut notes = Vec::new();
    let overwritten = |direct| {
        any(&|cell| {
            cell.conditions.target == Target::FileOverwrite && cell.conditions.direct == direct
        })
    };
    if overwritten(false) {
        notes.push(
            "file-overwrite: an existing file in the page cache is rewritten in place.".to_owned(),
        );
    } else if overwritten(true) {
        notes.push("file-overwrite: an existing file is rewritten in place.".to_owned());
    }
    for (target, words) in [
        (
            Target::Socket,
            "socket: another program reads, at its own pace, so the bytes are not verified.",
        ),
        (
            Target::Remote,
            "remote: a TCP connection with TCP_NODELAY and buffers that grow as usual. Another program reads, at its \
             own pace, so the bytes are not verified.",
        ),
        (
            Target::Device,
            "device: the bytes cannot be read back, so they are not verified.",
        ),
        (
            Target::Null,
            "null: /dev/null reads no byte. Its figures are fixed costs, shown as times per call instead of \
             gather taxes, and the bytes are not verified.",
        ),
    ] {
        if any(&|cell| cell.conditions.target == target) {
            notes.push(words.to_owned());
        }
    }
    let host = &results.host;
    let buffers = (host.tcp_send_buffer_bytes).zip(host.tcp_receive_buffer_bytes);
    if let Some((send, receive)) = buffers
        && any(&|cell| cell.conditions.target == Target::Tcp)
    {
        notes.push(format!(
            "tcp: over the loopback device, with TCP_NODELAY, a send buffer of {} and a receive \
             buffer of {} that do not grow.",
            bytes_in_words(send),
            bytes_in_words(receive)
        ));
    }
    for (target, place) in [
        (Target::Tcp, "tcp (the loopback device always copies)"),
        (Target::Remote, "remote"),
    ] {
        let cells = results
            .cells
            .iter()
            .filter(|cell| cell.conditions.target == target);
        let counts = cells.filter_map(|cell| cell.technique(Technique::SendZerocopy)?.zerocopy);
        let (mut sends, mut copied) = (0, 0);
        for counts in counts {
            sends += counts.sends;
            copied += counts.copied;
        }
        if sends > 0 {
            notes.push(zerocopy_note(place, sends, copied));
        }
    }
    for (sync, words) in [
        (
            SyncMode::Dsync,
            "dsync: each write returns when its data are on the device (O_DSYNC).",
        ),
        (
            SyncMode::Sync,
            "sync: each write returns when its data and all metadata are on the device (O_SYNC).",
        ),
        (
            SyncMode::Fsync,
            "fsync: the time of each call, the floor's too, includes one fsync(2) after it.",
        ),
    ] {
        if any(&|cell| cell.conditions.sync == sync) {
            notes.push(words.to_owned());
        }
    }
    let mut alignments: Vec<DirectIo> = results
        .cells
        .iter()
        .filter_map(|cell| cell.alignment)
        .collect();
    alignments.sort_unstable();
    alignments.dedup();
    for direct in alignments {
        notes.push(format!(
            "O_DIRECT: transfers go between the segments and the device, past the page cache. Here offsets and sizes \
             are multiples of {} B, and segments begin at multiples of {} B. adaptive decides by the default costs of \
             files in the page cache.",
            direct.offset_bytes, direct.memory_bytes
        ));
    }
    notes
}

/// Whether a technique that sends without a copy did so.
fn zerocopy_note(place: &str, sends: u64, copied: u64) -> String {
    let all = grouped(sends);
    let outcome = match copied {
        0 => format!("the kernel copied the bytes of none of {all} sends"),
        copied if copied == sends => format!(
            "the kernel copied the bytes of all {all} sends after all, so its figures are those of a copy with \
             notifications"
        ),
        copied => format!(
            "the kernel copied the bytes of {} of {all} sends after all",
            grouped(copied)
        ),
    };
    format!(
        "send-zerocopy on {place}: {outcome}. Notifications are taken in each call; those that are missing after the \
         last one are waited for outside of the timed region."
    )
}
