//! The receiver: listens, and serves one client at a time.
//!
//! One thread, and no descriptor that blocks: whoever sends nothing, or never reads, delays nobody. Bytes are read into
//! one buffer, and only their checksum is kept.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
};

use crate::platform::plain_calls;
use crate::remote::protocol::{Action, ByteLimits, Refusal, Session};
use crate::remote::token::Token;

/// Connections that have not sent the token yet. The oldest makes room for a new one.
const MAX_HANDSHAKES: usize = 16;

/// Bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// Reads of the client before the others have their turn.
const READS_IN_A_ROW: usize = 8;

/// Interval at which deadlines and the stop flag are looked at.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// What a client may take.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveLimits {
    /// Limits on bytes.
    pub bytes: ByteLimits,
    /// Time for the first message.
    pub handshake: Duration,
    /// Time without a byte in the middle of a batch.
    pub stall: Duration,
    /// Time from the first message to the end.
    pub session: Duration,
}

impl ReceiveLimits {
    /// 2 s for the first message, 30 s without a byte, batches of up to 256 MiB.
    pub fn new(total_bytes: u64, session: Duration) -> Self {
        ReceiveLimits {
            bytes: ByteLimits {
                batch_bytes: 256 << 20,
                total_bytes,
            },
            handshake: Duration::from_secs(2),
            stall: Duration::from_secs(30),
            session,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// A client with the token is served.
    Accepted,
    /// It has ended, after this many whole batches with this many bytes.
    Ended {
        /// The reason.
        why: End,
        /// Whole batches.
        batches: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// A connection was closed that had not been admitted.
    Refused(End),
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client closed it.
    Closed,
    /// The client is gone, or the network failed.
    Lost,
    /// The client broke the protocol or a limit on bytes.
    Refused(Refusal),
    /// The first message took too long, or made room for a newer connection.
    HandshakeTime,
    /// No byte came in the middle of a batch.
    Stalled,
    /// The client took longer than a client may.
    SessionTime,
    /// The client does not read its answers.
    NotReading,
    /// The receiver was stopped.
    Stopped,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Closed => "it closed the connection",
            End::Lost => "the connection was lost",
            End::Refused(why) => return why.fmt(f),
            End::HandshakeTime => "its token did not come in time",
            End::Stalled => "no byte came in the middle of a batch",
            End::SessionTime => "it took longer than --max-time allows",
            End::NotReading => "it does not read its answers",
            End::Stopped => "the receiver was stopped",
        })
    }
}

/// A listening receiver.
pub struct Receiver {
    listener: TcpListener,
    token: Token,
    limits: ReceiveLimits,
}

impl Receiver {
    /// Listens on an address.
    ///
    /// # Errors
    ///
    /// Those of `bind(2)` and `listen(2)`.
    pub fn listen(address: SocketAddr, token: Token, limits: ReceiveLimits) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Receiver {
            listener,
            token,
            limits,
        })
    }

    /// The address, with the port that the kernel chose if none was named.
    ///
    /// # Errors
    ///
    /// That of `getsockname(2)`.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves clients until `stop` is set.
    ///
    /// # Errors
    ///
    /// If the listening socket fails. No client can cause that.
    pub fn serve(
        &self,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(SocketAddr, ReceiverEvent),
    ) -> io::Result<()> {
        let mut desk = Desk {
            receiver: self,
            handshakes: Vec::new(),
            client: None,
            buffer: vec![0; READ_BYTES],
            on_event,
        };
        while !stop.load(Ordering::Relaxed) {
            desk.turn()?;
        }
        if let Some(client) = desk.client.take() {
            desk.ended(&client, End::Stopped);
        }
        Ok(())
    }
}

/// A connection.
struct Connection {
    stream: TcpStream,
    from: SocketAddr,
    session: Session,
    began: Instant,
    last_byte: Instant,
}

/// The connections of a receiver.
struct Desk<'r> {
    receiver: &'r Receiver,
    /// Those that have not sent the token yet, the oldest first.
    handshakes: Vec<Connection>,
    /// The one that is served.
    client: Option<Connection>,
    buffer: Vec<u8>,
    on_event: &'r mut dyn FnMut(SocketAddr, ReceiverEvent),
}

/// What becomes of a connection after its input.
enum Outcome {
    Stays,
    /// It has sent the token.
    Admit,
    Ends(End),
}

impl Desk<'_> {
    /// Waits for input or a tick, and deals with it.
    fn turn(&mut self) -> io::Result<()> {
        let mut polled = vec![PollFd::new(&self.receiver.listener, PollFlags::IN)];
        let connections = self.handshakes.iter().chain(&self.client);
        polled.extend(connections.map(|one| PollFd::new(&one.stream, PollFlags::IN)));
        match poll(&mut polled, Some(&TICK)) {
            Err(plain_calls::Errno::INTR) => return Ok(()),
            outcome => outcome?,
        };
        let is_ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        drop(polled);
        let now = Instant::now();
        if let Some(client) = self.client.take() {
            let ready = is_ready[is_ready.len() - 1];
            self.serve(client, ready, now);
        }
        let handshakes = std::mem::take(&mut self.handshakes);
        for (connection, &ready) in std::iter::zip(handshakes, &is_ready[1..]) {
            self.shake_hands(connection, ready, now);
        }
        if is_ready[0] {
            self.accept(now);
        }
        Ok(())
    }

    /// Accepts connections that wait: not more than may wait with a part of their first message, which is read in
    /// the next turn, before another one can take their place.
    fn accept(&mut self, now: Instant) {
        for _ in 0..MAX_HANDSHAKES {
            let (stream, from) = match self.receiver.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // That of a connection that was given up before it was accepted, or of a machine without room for
                // another descriptor. The next turn tries again.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(10));
                    return;
                }
            };
            if prepare(&stream).is_err() {
                (self.on_event)(from, ReceiverEvent::Refused(End::Lost));
                continue;
            }
            if self.handshakes.len() == MAX_HANDSHAKES {
                let oldest = self.handshakes.remove(0);
                (self.on_event)(oldest.from, ReceiverEvent::Refused(End::HandshakeTime));
            }
            self.handshakes.push(Connection {
                stream,
                from,
                session: Session::new(self.receiver.token, self.receiver.limits.bytes),
                began: now,
                last_byte: now,
            });
        }
    }

    /// Deals with a connection that has not sent the token yet.
    fn shake_hands(&mut self, mut connection: Connection, ready: bool, now: Instant) {
        let outcome = match ready {
            true => read(&mut connection, &mut self.buffer[..64], 1, now),
            false => Outcome::Stays,
        };
        match outcome {
            Outcome::Stays if now - connection.began > self.receiver.limits.handshake => {
                (self.on_event)(connection.from, ReceiverEvent::Refused(End::HandshakeTime));
            }
            Outcome::Stays => self.handshakes.push(connection),
            Outcome::Ends(why) => (self.on_event)(connection.from, ReceiverEvent::Refused(why)),
            Outcome::Admit => {
                let actions = connection.session.admit(self.client.is_none());
                match act(&mut connection, actions) {
                    Outcome::Ends(why) => {
                        (self.on_event)(connection.from, ReceiverEvent::Refused(why));
                    }
                    _ => {
                        (self.on_event)(connection.from, ReceiverEvent::Accepted);
                        connection.began = now;
                        self.client = Some(connection);
                    }
                }
            }
        }
    }

    /// Reads what the client has sent.
    fn serve(&mut self, mut client: Connection, ready: bool, now: Instant) {
        let limits = self.receiver.limits;
        let outcome = match ready {
            true => read(&mut client, &mut self.buffer, READS_IN_A_ROW, now),
            false => Outcome::Stays,
        };
        match outcome {
            Outcome::Ends(why) => self.ended(&client, why),
            _ if now - client.began > limits.session => self.ended(&client, End::SessionTime),
            _ if client.session.is_in_batch() && now - client.last_byte > limits.stall => {
                self.ended(&client, End::Stalled);
            }
            _ => self.client = Some(client),
        }
    }

    fn ended(&mut self, client: &Connection, why: End) {
        let (batches, bytes) = client.session.received();
        let event = ReceiverEvent::Ended {
            why,
            batches,
            bytes,
        };
        (self.on_event)(client.from, event);
    }
}

/// Sets the options of a new connection.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    // A client whose machine is gone is noticed within half a minute, also between two batches.
    set_socket_keepalive(stream, true)?;
    set_tcp_keepidle(stream, Duration::from_secs(10))?;
    set_tcp_keepintvl(stream, Duration::from_secs(5))?;
    set_tcp_keepcnt(stream, 3)?;
    Ok(())
}

/// Reads up to `times` times, and does what follows.
fn read(connection: &mut Connection, buffer: &mut [u8], times: usize, now: Instant) -> Outcome {
    for _ in 0..times {
        match connection.stream.read(buffer) {
            Ok(0) => return Outcome::Ends(End::Closed),
            Ok(count) => {
                connection.last_byte = now;
                let actions = connection.session.input(&buffer[..count]);
                match act(connection, actions) {
                    Outcome::Stays if count < buffer.len() => return Outcome::Stays,
                    Outcome::Stays => {}
                    outcome => return outcome,
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Outcome::Stays,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Outcome::Ends(End::Lost),
        }
    }
    Outcome::Stays
}

fn act(connection: &mut Connection, actions: Vec<Action>) -> Outcome {
    for action in actions {
        match action {
            Action::Admit => return Outcome::Admit,
            Action::Close(why) => return Outcome::Ends(End::Refused(why)),
            // An answer of 16 bytes always fits, unless the client has left thousands unread.
            Action::Reply(bytes) => match connection.stream.write(&bytes) {
                Ok(count) if count == bytes.len() => {}
                Ok(_) => return Outcome::Ends(End::NotReading),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Outcome::Ends(End::NotReading);
                }
                Err(_) => return Outcome::Ends(End::Lost),
            },
        }
    }
    Outcome::Stays
}
