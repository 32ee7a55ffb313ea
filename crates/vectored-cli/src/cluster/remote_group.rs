//! The ranks, seen by a process that leaves MPI to another one.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::rc::Rc;

use vectored_lab::measure::Group;

use super::wire::{Call, bytes_of, receive_answer, send_call, split, words_of};

/// A group whose calls another process makes, the MPI process of this rank.
///
/// MPI starts threads, and in a process of several threads each system call takes longer. This process has one thread, as
/// without MPI. It asks for each call and waits for the answer; while it measures, the MPI process sleeps.
pub struct RemoteGroup<C> {
    connection: Rc<Connection<C>>,
    number: u32,
    rank: u32,
    size: u32,
}

/// The connection to the MPI process.
struct Connection<C> {
    stream: RefCell<C>,
    /// The groups of the first ranks, of which this rank is one.
    parts: Cell<u32>,
    /// Ends this process, since the connection has an error.
    lost: Box<dyn Fn(io::Error) -> Infallible>,
}

impl<C: Read + Write + 'static> RemoteGroup<C> {
    /// Waits until the MPI process has joined the other ranks. Returns their group, and the MPI library in words.
    ///
    /// `lost` ends this process, as the errors of MPI do.
    pub fn joined(
        mut stream: C,
        lost: impl Fn(io::Error) -> Infallible + 'static,
    ) -> io::Result<(RemoteGroup<C>, String)> {
        let hello = receive_answer(&mut stream)?;
        let (numbers, library) = hello.split_at(hello.len().min(16));
        let numbers = words_of(numbers);
        let [rank, size] = numbers[..] else {
            return Err(io::Error::other("it is another version of this program"));
        };
        let group = RemoteGroup {
            connection: Rc::new(Connection {
                stream: RefCell::new(stream),
                parts: Cell::new(0),
                lost: Box::new(lost),
            }),
            number: 0,
            rank: rank as u32,
            size: size as u32,
        };
        Ok((group, String::from_utf8_lossy(library).into_owned()))
    }

    /// Has the MPI process end all ranks. Returns when it has ended.
    pub fn abort(&self) {
        let mut stream = self.connection.stream.borrow_mut();
        // It gives no answer, and has nothing to do if it has ended already.
        let _ = send_call(&mut *stream, Call::Abort, self.number, &[])
            .and_then(|()| receive_answer(&mut *stream));
    }

    /// Tells the MPI process that this rank needs no others any more. The group cannot be used any more.
    pub fn end(&self) -> io::Result<()> {
        let mut stream = self.connection.stream.borrow_mut();
        send_call(&mut *stream, Call::End, self.number, &[])
    }

    fn call(&self, call: Call, body: &[u8]) -> Vec<u8> {
        let mut stream = self.connection.stream.borrow_mut();
        let sent = send_call(&mut *stream, call, self.number, body);
        let answer = sent.and_then(|()| receive_answer(&mut *stream));
        answer.unwrap_or_else(|error| self.lost(error))
    }

    fn lost(&self, error: io::Error) -> ! {
        match (self.connection.lost)(error) {}
    }
}

impl<C: Read + Write + 'static> Group for RemoteGroup<C> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn broadcast(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.call(Call::Broadcast, bytes));
    }

    fn barrier(&self) {
        self.call(Call::Barrier, &[]);
    }

    fn largest(&self, values: &mut [u64]) {
        let largest = self.call(Call::Largest, &bytes_of(values));
        values.copy_from_slice(&words_of(&largest));
    }

    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let all = self.call(Call::Gather, bytes);
        split(&all).unwrap_or_else(|error| self.lost(error))
    }

    fn rest(&self) {
        self.call(Call::Rest, &[]);
    }

    fn first(&self, count: u32) -> Option<Box<dyn Group>> {
        let numbers = words_of(&self.call(Call::First, &bytes_of(&[count.into()])));
        let [rank, size] = numbers[..] else {
            return None;
        };
        let parts = &self.connection.parts;
        parts.set(parts.get() + 1);
        Some(Box::new(RemoteGroup {
            connection: Rc::clone(&self.connection),
            number: parts.get(),
            rank: rank as u32,
            size: size as u32,
        }))
    }

    fn pinned_to(&self, cpu: usize) {
        self.call(Call::PinnedTo, &bytes_of(&[cpu as u64]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use proptest::prelude::*;
    use vectored_lab::measure::ThreadGroup;

    use crate::cluster::served::Service;

    /// A use of a group by a rank.
    #[derive(Clone, Debug)]
    enum Step {
        Broadcast(Vec<u8>),
        Barrier,
        Largest(Vec<u64>),
        Gather(Vec<u8>),
        Rest,
        /// Goes on in the group of the first ranks, if this is one of them; otherwise stays.
        First(u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..40);
        let words = prop::collection::vec(any::<u64>(), 0..6);
        let step = prop_oneof![
            bytes().prop_map(Step::Broadcast),
            Just(Step::Barrier),
            words.prop_map(Step::Largest),
            bytes().prop_map(Step::Gather),
            Just(Step::Rest),
            (1_u32..4).prop_map(Step::First),
        ];
        prop::collection::vec(step, 0..12)
    }

    /// All that a rank learns. Each adds its number to what it brings.
    fn learn(world: &dyn Group, steps: &[Step]) -> Vec<String> {
        let own = world.rank() as u8;
        let mut learnt = vec![format!("{} of {}", world.rank(), world.size())];
        let mut parts: Vec<Box<dyn Group>> = Vec::new();
        for step in steps {
            let first = match step {
                Step::First(count) => Some(world.first(*count)),
                _ => None,
            };
            if let Some(part) = first {
                let numbers = part.as_ref().map(|part| (part.rank(), part.size()));
                learnt.push(format!("part {numbers:?}"));
                parts.extend(part);
                continue;
            }
            // In the group of all, and in those of the first ranks.
            let groups = parts.iter().map(|part| &**part);
            for group in std::iter::once(world).chain(groups) {
                match step {
                    Step::Broadcast(bytes) => {
                        let mut bytes: Vec<u8> = bytes.iter().map(|byte| byte ^ own).collect();
                        group.broadcast(&mut bytes);
                        learnt.push(format!("broadcast {bytes:?}"));
                    }
                    Step::Barrier => group.barrier(),
                    Step::Largest(values) => {
                        let mut values: Vec<u64> = values
                            .iter()
                            .map(|word| word.rotate_left(own.into()))
                            .collect();
                        group.largest(&mut values);
                        learnt.push(format!("largest {values:?}"));
                    }
                    Step::Gather(bytes) => {
                        // Of another length on each rank.
                        let bytes = &bytes[..bytes.len().saturating_sub(own.into())];
                        learnt.push(format!("gather {:?}", group.gather(bytes)));
                    }
                    Step::Rest => group.rest(),
                    Step::First(_) => {}
                }
            }
        }
        learnt
    }

    /// The answers that each of three ranks gets, from its group itself or through a connection to it.
    fn learnt(steps: &[Step], is_remote: bool) -> Vec<Vec<String>> {
        let ranks = ThreadGroup::of(3).into_iter().map(|group| {
            let steps = steps.to_vec();
            thread::spawn(move || {
                if !is_remote {
                    return learn(&group, &steps);
                }
                let (own, mut served) = UnixStream::pair().unwrap();
                let service = thread::spawn(move || {
                    let service = Service {
                        group: &group,
                        library: "threads",
                        abort: &|| (),
                        pin: &|_| (),
                    };
                    service.run(&mut served).unwrap();
                });
                let (group, library) = RemoteGroup::joined(own, |error| panic!("{error}")).unwrap();
                assert_eq!(library, "threads");
                let learnt = learn(&group, &steps);
                group.end().unwrap();
                service.join().unwrap();
                learnt
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    }

    proptest! {
        #[test]
        fn ranks_learn_from_another_process_what_they_learn_themselves(steps in steps()) {
            prop_assert_eq!(learnt(&steps, true), learnt(&steps, false));
        }
    }

    #[test]
    fn a_rank_is_told_of_the_end_of_its_mpi_process_and_it_of_the_ranks() {
        let group = ThreadGroup::of(1).remove(0);
        let (own, mut served) = UnixStream::pair().unwrap();
        drop(own);
        let service = Service {
            group: &group,
            library: "",
            abort: &|| (),
            pin: &|_| (),
        };
        assert!(service.run(&mut served).is_err());
        let (own, served) = UnixStream::pair().unwrap();
        drop(served);
        let joined = RemoteGroup::joined(own, |error| panic!("{error}"));
        assert_eq!(joined.err().unwrap().kind(), io::ErrorKind::UnexpectedEof);
        // In the middle of a run.
        let (own, mut served) = UnixStream::pair().unwrap();
        super::super::wire::send_answer(&mut served, &bytes_of(&[0, 1])).unwrap();
        let (group, _) = RemoteGroup::joined(own, |error| panic!("lost: {error}")).unwrap();
        drop(served);
        let barrier = std::panic::AssertUnwindSafe(|| group.barrier());
        let panic = std::panic::catch_unwind(barrier).unwrap_err();
        assert!(
            panic
                .downcast_ref::<String>()
                .unwrap()
                .starts_with("lost: ")
        );
    }

    #[test]
    fn calls_for_the_process_itself_reach_it() {
        let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let hears = std::sync::Arc::clone(&heard);
        let (own, mut served) = UnixStream::pair().unwrap();
        let service = thread::spawn(move || {
            let group = ThreadGroup::of(1).remove(0);
            let service = Service {
                group: &group,
                library: "",
                abort: &|| hears.lock().unwrap().push("abort".to_owned()),
                pin: &|cpu| hears.lock().unwrap().push(format!("pin {cpu}")),
            };
            service.run(&mut served).unwrap();
        });
        let (group, _) = RemoteGroup::joined(own, |error| panic!("{error}")).unwrap();
        group.pinned_to(7);
        group.abort();
        group.end().unwrap();
        service.join().unwrap();
        assert_eq!(*heard.lock().unwrap(), ["pin 7", "abort"]);
    }
}
