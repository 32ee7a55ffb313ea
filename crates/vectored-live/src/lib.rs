//! System calls of running programs, from BPF programs in the kernel, as the events that `vectored-strace` reads from logs.
//!
//! [`Watch`] attaches the programs; [`Watch::next`] hands on the events. On other systems than Linux for x86-64 it refuses.

mod refusal;
mod seen;

/// The modules of the one system for which there are programs, and of all others.
macro_rules! here {
    ($($module:ident)+; $other:ident; $($name:ident)+) => {
        $(
            #[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
            mod $module;
        )+
        #[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
        pub use watch::{$($name),+};
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64")))]
        mod $other;
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64")))]
        pub use $other::{$($name),+};
    };
}

here!(action calls drain events open_before order record sites socket_names sys watch; elsewhere; Held Watch);
pub use refusal::Refusal;
pub use seen::{Seen, Target};
