//! Replaces the other modules of this folder if `vectored` has no `uring`: on other systems than Linux, and on
//! processors that the crate io-uring does not know.

pub mod rings {
    pub fn ring_write_ways() -> &'static [crate::way::WriteWay] {
        crate::host::report_skip(
            "the entries of Ring in the suite",
            "vectored has no uring here",
        );
        &[]
    }

    pub fn ring_read_ways() -> &'static [crate::way::ReadWay] {
        &[]
    }
}

pub mod ring_sessions {
    pub fn session(
        _: &mut fastrand::Rng,
        _: &std::path::Path,
    ) -> std::io::Result<crate::outcome::Counts> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
