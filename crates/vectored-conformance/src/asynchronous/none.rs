//! Replaces the modules beside it where `vectored` has no `uring`: on other systems than Linux, and on processors
//! that the crate io-uring does not know.

/// The functions of `vectored::uring`: none here.
pub mod rings {
    use crate::host::report_skip;
    use crate::read_ways::ReadWay;
    use crate::write_ways::WriteWay;

    /// No function, which is reported.
    #[must_use]
    pub fn ring_write_ways() -> &'static [WriteWay] {
        skip();
        &[]
    }

    /// No function, which is reported.
    #[must_use]
    pub fn ring_read_ways() -> &'static [ReadWay] {
        skip();
        &[]
    }

    fn skip() {
        report_skip(
            "the entries of Ring in the suite",
            "vectored has no module uring for this system or processor",
        );
    }
}

/// The transfers in flight of the measuring engine: none are tested here.
pub mod in_flight {
    use vectored_results::model::TechniqueName;

    use crate::host::report_skip;
    use crate::read_ways::ReadWay;
    use crate::write_ways::WriteWay;

    /// No technique, which is reported.
    pub fn techniques() -> impl Iterator<Item = TechniqueName> {
        report_skip(
            "the entries of ListQueue in the suite",
            "vectored has no module uring for this system or processor",
        );
        std::iter::empty()
    }

    /// No function.
    #[must_use]
    pub fn write_ways_by(_: TechniqueName) -> &'static [WriteWay] {
        &[]
    }

    /// No function.
    #[must_use]
    pub fn read_ways_by(_: TechniqueName) -> &'static [ReadWay] {
        &[]
    }
}

/// Sessions of a ring: none here.
pub mod ring_sessions {
    use std::io;
    use std::path::Path;

    use fastrand::Rng;

    /// The bytes of a session.
    pub struct Counts {
        /// The bytes that arrived.
        pub arrived: u64,
        /// The faults.
        pub faults: u64,
        /// The bytes that were lost.
        pub lost: u64,
    }

    /// No session.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn session(_: &mut Rng, _: &Path) -> io::Result<Counts> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
