//! A server on this thread, and its clients on another.
//!
//! The thread that measures is the server: a tokio runtime of the current thread. All connections of all cases are its tasks,
//! and idle connections cost nothing. So the CPU clock of this thread counts what the server does, and nothing of the clients.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use crate::programs::clock::thread_cpu_ns;
use crate::programs::policies::Policies;
use crate::programs::session::Session;

/// Runs servers and clients.
#[derive(Clone)]
pub struct Harness {
    shared: Rc<Shared>,
}

struct Shared {
    // Dropped before the runtime: the tasks hold sockets of the runtime.
    tasks: LocalSet,
    runtime: Runtime,
    jobs: Sender<Job>,
    directory: PathBuf,
    policies: Policies,
}

type Job = Box<dyn FnOnce() + Send>;

/// Connections of a session. With several connections, a busy server that has answered a request finds the next request. With one
/// connection it would fall asleep after each request, and a sleep costs more than most answers.
pub(crate) const CONNECTIONS: usize = 4;

/// The other ends of the connections of a session, on the client thread.
pub(crate) trait Client: Send {
    /// Sends requests on all connections in turns and reads the answers.
    fn exchange(&mut self, requests: usize) -> io::Result<()>;

    /// Sends requests on each connection, and returns the answers of each.
    fn answers(&mut self, requests: usize) -> io::Result<Vec<Vec<u8>>>;
}

impl Harness {
    /// Starts the client thread. Files are made in `directory`.
    ///
    /// If the process may use two CPUs, this thread stays on one of them and the clients on another.
    ///
    /// # Errors
    ///
    /// If the runtime cannot be made or a thread cannot be pinned.
    pub fn new(directory: &Path, policies: Policies) -> io::Result<Harness> {
        let allowed = sched_getaffinity(None)?;
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
            .filter(|&cpu| allowed.is_set(cpu))
            .collect();
        let client_cpu = match cpus[..] {
            [server, .., client] => {
                pin(server)?;
                Some(client)
            }
            _ => None,
        };
        let (jobs, queue) = channel::<Job>();
        // The thread ends when the harness is dropped.
        thread::Builder::new()
            .name("clients".to_owned())
            .spawn(move || {
                if let Some(cpu) = client_cpu {
                    pin(cpu).expect("the CPU was allowed before");
                }
                for job in queue {
                    job();
                }
            })?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        Ok(Harness {
            shared: Rc::new(Shared {
                tasks: LocalSet::new(),
                runtime,
                jobs,
                directory: directory.to_owned(),
                policies,
            }),
        })
    }

    /// The folder for files.
    pub fn directory(&self) -> &Path {
        &self.shared.directory
    }

    /// The policies of the queues.
    pub fn policies(&self) -> &Policies {
        &self.shared.policies
    }

    /// Serves [`CONNECTIONS`] TCP connections over the loopback device by `serve`; `client` gets their other ends.
    pub(crate) fn session<F>(
        &self,
        mut serve: impl FnMut(TcpStream) -> F + 'static,
        client: impl FnOnce(Vec<std::net::TcpStream>) -> Box<dyn Client>,
    ) -> io::Result<Box<dyn Session>>
    where
        F: Future<Output = io::Result<()>> + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let failure = Rc::new(RefCell::new(None));
        let mut outer_ends = Vec::new();
        for _ in 0..CONNECTIONS {
            let outer = std::net::TcpStream::connect(listener.local_addr()?)?;
            let (inner, _) = listener.accept()?;
            inner.set_nonblocking(true)?;
            inner.set_nodelay(true)?;
            outer.set_nodelay(true)?;
            // Each round makes new connections. A reset closes them without the minute of TIME_WAIT.
            set_socket_linger(&outer, Some(Duration::ZERO))?;
            outer_ends.push(outer);
            let inner = {
                let _context = self.shared.runtime.enter();
                TcpStream::from_std(inner)?
            };
            let serving = serve(inner);
            let failed = Rc::clone(&failure);
            self.shared.tasks.spawn_local(async move {
                if let Err(error) = serving.await {
                    *failed.borrow_mut() = Some(error);
                }
            });
        }
        Ok(Box::new(Served {
            harness: self.clone(),
            client: Some(client(outer_ends)),
            serve: Box::new(move |stream| Box::pin(serve(stream))),
            failure,
        }))
    }
}

fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

type Serving = Pin<Box<dyn Future<Output = io::Result<()>>>>;

struct Served {
    harness: Harness,
    client: Option<Box<dyn Client>>,
    /// Serves a further connection.
    serve: Box<dyn FnMut(TcpStream) -> Serving>,
    /// The error that ended a task of the server.
    failure: Rc<RefCell<Option<io::Error>>>,
}

impl Served {
    /// Lets the client work on its thread, and serves until it is done.
    fn serve_while<R: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut dyn Client) -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        let Some(mut client) = self.client.take() else {
            return Err(io::Error::other("the client ended before"));
        };
        let (done, result) = oneshot::channel();
        let job = Box::new(move || {
            let result = work(&mut *client);
            // The receiver is gone only if the measuring thread has panicked.
            let _ = done.send((client, result));
        });
        let shared = &self.harness.shared;
        let gone = || io::Error::other("the client thread panicked");
        shared.jobs.send(job).map_err(|_| gone())?;
        let result = shared.tasks.block_on(&shared.runtime, result);
        let (client, result) = result.map_err(|_| gone())?;
        self.client = Some(client);
        // The server's error is the cause of the client's.
        result.map_err(|error| self.failure.take().unwrap_or(error))
    }
}

impl Session for Served {
    fn deliver(&mut self, requests: usize) -> io::Result<Vec<u8>> {
        let answers = self.serve_while(move |client| client.answers(requests))?;
        let first = answers.first().cloned().unwrap_or_default();
        if answers.iter().all(|answer| *answer == first) {
            Ok(first)
        } else {
            Err(io::Error::other(
                "the connections of one session delivered different bytes",
            ))
        }
    }

    fn slice(&mut self, requests: usize) -> io::Result<u64> {
        let began = thread_cpu_ns();
        self.serve_while(move |client| client.exchange(requests))?;
        Ok(thread_cpu_ns() - began)
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let shared = Rc::clone(&self.harness.shared);
        shared.tasks.block_on(&shared.runtime, async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let serving = (self.serve)(stream);
                shared.tasks.spawn_local(async {
                    if let Err(error) = serving.await {
                        eprintln!("a connection failed: {error}");
                    }
                });
            }
        })
    }
}
