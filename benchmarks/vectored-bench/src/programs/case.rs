//! A case, and what competes in it.

use std::fmt;
use std::io;

use crate::programs::harness::Harness;
use crate::programs::session::Session;

/// A program with a kind of request, a size and a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The name of the program.
    pub program: &'static str,
    /// The kind of request.
    pub kind: &'static str,
    /// Bytes of one value, body, frame or record.
    pub bytes: usize,
    /// Values, bodies, frames or records in a request.
    pub count: usize,
}

/// `get 16x16384`: the kind, then the count and the bytes of each.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}x{}", self.kind, self.count, self.bytes)
    }
}

/// A program of the bench.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name, as `--programs` takes it.
    pub name: &'static str,
    /// The kinds of request.
    pub kinds: &'static [Kind],
    /// Opens one session for each technique of a case.
    pub open: fn(&Harness, &Case) -> io::Result<Contenders>,
}

/// A kind of request.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name.
    pub name: &'static str,
    /// Bytes and count of each case that is measured by default.
    pub defaults: &'static [(usize, usize)],
    /// Whether a request is always one value, whatever `--counts` says.
    pub is_single: bool,
}

/// The name of our technique in every program.
pub const OURS: &str = "segment-queue";

/// How a technique comes into the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The project with its default settings. It is also one of the choices by hand.
    Today,
    /// A setting of the project, or a simple change that its user can make.
    ByHand,
    /// This library, or the setting that its model picks.
    Ours,
    /// [`Role::Today`], measured once more: the A/A control.
    Again,
}

impl Role {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Role::Today => "today",
            Role::ByHand => "by-hand",
            Role::Ours => "ours",
            Role::Again => "again",
        }
    }
}

/// One technique of a case, ready to run.
pub struct Contender {
    /// The name of the technique.
    pub technique: &'static str,
    /// How it comes into the comparison.
    pub role: Role,
    /// The running program.
    pub session: Box<dyn Session>,
}

/// All techniques of a case, and the bytes that each must deliver.
pub struct Contenders {
    /// The bytes of the first [`VERIFIED_REQUESTS`] requests.
    pub expected: Vec<u8>,
    /// The techniques.
    pub all: Vec<Contender>,
}

/// The requests whose bytes are compared. The second request shows a technique that left something behind.
pub const VERIFIED_REQUESTS: usize = 2;

impl Contenders {
    /// Opens a session for each of `ways`, and a second session for today's way.
    ///
    /// # Errors
    ///
    /// The errors of `open`.
    pub(crate) fn open<W: Copy>(
        expected: Vec<u8>,
        ways: &[(&'static str, Role, W)],
        mut open: impl FnMut(W) -> io::Result<Box<dyn Session>>,
    ) -> io::Result<Contenders> {
        let mut all = Vec::new();
        for &(technique, role, way) in ways {
            all.push(Contender {
                technique,
                role,
                session: open(way)?,
            });
            if role == Role::Today {
                all.push(Contender {
                    technique: "today-again",
                    role: Role::Again,
                    session: open(way)?,
                });
            }
        }
        Ok(Contenders { expected, all })
    }
}
