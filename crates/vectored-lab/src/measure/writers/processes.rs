//! Writers that are processes: `vectored writer`, which the measuring process starts.
//!
//! Each has a socket to the measuring process as its standard input. The first message brings the descriptors of the
//! gate and of the target; then each line is an order, and each answer a line.

use std::io::{self, BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use crate::measure::targets::stay_on;
use crate::measure::write::movers::movers;
use crate::measure::writers::crew::{Crew, Reports};
use crate::measure::writers::writer::{Order, Span, Writer, WriterSetup};
use crate::platform::processes::end_with_parent;
use crate::sys::gate::Gate;

/// What a process is told first.
#[derive(Serialize, Deserialize)]
struct Introduction {
    name: u32,
    parties: u32,
    cpu: Option<usize>,
    setup: WriterSetup,
}

/// The answer to an order.
#[derive(Serialize, Deserialize)]
enum Answer {
    Wrote(Span),
    /// The number of the error, if the kernel has one for it, and its text.
    Failed(Option<i32>, String),
}

/// The processes, which end when this is dropped.
pub(crate) struct ProcessCrew {
    gate: Gate,
    writers: Vec<WriterProcess>,
}

struct WriterProcess {
    child: Child,
    control: UnixStream,
    /// The beginning of its next answer.
    answer: Vec<u8>,
}

impl ProcessCrew {
    /// Starts `program` as a writer for each of `targets`, in turn on each of `cpus` (anywhere if there are none).
    pub fn start(
        program: &Path,
        setup: &WriterSetup,
        targets: Vec<OwnedFd>,
        cpus: &[usize],
    ) -> io::Result<Self> {
        let parties = targets.len() as u32;
        let memory = Gate::memory()?;
        let mut crew = ProcessCrew {
            gate: Gate::in_memory(&memory, parties)?,
            writers: Vec::new(),
        };
        for (name, target) in (0..parties).zip(targets) {
            let (control, theirs) = UnixStream::pair()?;
            let child = Command::new(program)
                .arg("writer")
                .stdin(OwnedFd::from(theirs))
                .stdout(Stdio::null())
                // A group of its own: Ctrl-C reaches the measuring process, which lets the sample end.
                .process_group(0)
                .spawn()?;
            crew.writers.push(WriterProcess {
                child,
                control,
                answer: Vec::new(),
            });
            let control = &crew.writers[name as usize].control;
            send_descriptors(control, [memory.as_fd(), target.as_fd()])?;
            let introduction = Introduction {
                name,
                parties,
                cpu: (!cpus.is_empty()).then(|| cpus[name as usize % cpus.len()]),
                setup: setup.clone(),
            };
            send_line(control, &introduction)?;
        }
        Ok(crew)
    }

    /// Waits until one of the missing reports may have come in; their places.
    fn wait(&self, reports: &Reports) -> io::Result<Vec<usize>> {
        let missing: Vec<usize> = (0..self.writers.len())
            .filter(|&writer| reports.lack(writer))
            .collect();
        let mut polled: Vec<PollFd<'_>> = missing
            .iter()
            .map(|&writer| PollFd::new(&self.writers[writer].control, PollFlags::IN))
            .collect();
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            outcome => outcome?,
        };
        let ready = std::iter::zip(&missing, &polled);
        let ready = ready.filter(|(_, polled)| !polled.revents().is_empty());
        Ok(ready.map(|(&writer, _)| writer).collect())
    }
}

impl Crew for ProcessCrew {
    fn sample(&mut self, order: Order) -> io::Result<Vec<Span>> {
        for writer in &self.writers {
            send_line(&writer.control, &order).map_err(|_| ended())?;
        }
        let mut reports = Reports::of(self.writers.len());
        while !reports.are_complete() {
            for writer in self.wait(&reports)? {
                match self.writers[writer].read() {
                    Ok(None) => {}
                    Ok(Some(report)) => reports.add(writer, report),
                    Err(error) => {
                        self.gate.break_open();
                        return Err(error);
                    }
                }
            }
        }
        reports.end()
    }
}

impl WriterProcess {
    /// Reads what is there of the answer; `None` if that is not all of it.
    fn read(&mut self) -> io::Result<Option<io::Result<Span>>> {
        let mut piece = [0; 512];
        let count = match self.control.read(&mut piece) {
            // An order that was not read makes it a reset.
            Ok(0) | Err(_) => return Err(ended()),
            Ok(count) => count,
        };
        self.answer.extend_from_slice(&piece[..count]);
        if self.answer.last() != Some(&b'\n') {
            return Ok(None);
        }
        let answer: Answer = serde_json::from_slice(&self.answer)?;
        self.answer.clear();
        Ok(Some(match answer {
            Answer::Wrote(span) => Ok(span),
            Answer::Failed(Some(number), _) => Err(io::Error::from_raw_os_error(number)),
            Answer::Failed(None, text) => Err(io::Error::other(text)),
        }))
    }
}

impl Drop for ProcessCrew {
    fn drop(&mut self) {
        self.gate.break_open();
        for writer in &mut self.writers {
            // It keeps nothing that an end at any moment could damage. The error means that it has ended by itself.
            let _ = writer.child.kill();
            let _ = writer.child.wait();
        }
    }
}

/// Runs a writer process: carries out the orders on standard input until it is closed.
///
/// # Errors
///
/// If standard input is no socket to a measuring process.
pub fn serve_writer() -> io::Result<()> {
    // A measuring process that is killed leaves no writer waiting at the gate.
    end_with_parent()?;
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let [gate, target] = receive_descriptors(&control)?;
    let mut lines = BufReader::new(control.try_clone()?).lines();
    let first = lines.next().ok_or(io::ErrorKind::UnexpectedEof)??;
    let Introduction {
        name,
        parties,
        cpu,
        setup,
    } = serde_json::from_str(&first)?;
    stay_on(cpu);
    let gate = Gate::in_memory(&gate, parties)?;
    let mut writer = Writer::new(name, setup, movers);
    for line in lines {
        let order: Order = serde_json::from_str(&line?)?;
        let answer = match writer.sample(order, target.as_fd(), &gate) {
            Ok(span) => Answer::Wrote(span),
            Err(error) => Answer::Failed(error.raw_os_error(), error.to_string()),
        };
        send_line(&control, &answer)?;
    }
    Ok(())
}

fn send_line(mut control: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    control.write_all(&line)
}

/// The byte that descriptors travel with.
const WITH_DESCRIPTORS: u8 = b'd';

fn send_descriptors(control: &UnixStream, descriptors: [BorrowedFd<'_>; 2]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no room for two descriptors in a message"));
    }
    let bytes = [IoSlice::new(&[WITH_DESCRIPTORS])];
    sendmsg(control, &bytes, &mut ancillary, SendFlags::empty())?;
    Ok(())
}

fn receive_descriptors(control: &UnixStream) -> io::Result<[OwnedFd; 2]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    recvmsg(control, &mut bytes, &mut ancillary, RecvFlags::empty())?;
    let mut received = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            received.extend(descriptors);
        }
    }
    <[OwnedFd; 2]>::try_from(received).map_err(|_| {
        io::Error::other(
            "standard input brings no descriptors: it is for `vectored measure` to start this",
        )
    })
}

fn ended() -> io::Error {
    io::Error::other("a writer process ended unexpectedly")
}
