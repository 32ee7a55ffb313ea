//! Targets as typed, and resolving their paths.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf, is_separator};
use std::str::FromStr;

use vectored_results::model::Target;

use crate::failure::Failure;

/// The refusal of a file.
const IS_FILE: &str = "it is an existing file, and vectored overwrites no file; name its directory, for a temporary file in \
 it";

/// A target as typed: a name or a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetName {
    Named(Target),
    /// An existing path, or text with a slash.
    Path(PathBuf),
    /// A program that reads from a TCP connection: `tcp://HOST:PORT`.
    Remote(String),
}

impl FromStr for TargetName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut named = Target::NAMED.into_iter();
        let path = Path::new(text);
        if let Some((scheme, address)) = text.split_once("://") {
            return if scheme == "tcp" && is_host_and_port(address) {
                Ok(TargetName::Remote(text.to_owned()))
            } else {
                Err("expected tcp://HOST:PORT, for example tcp://192.0.2.1:7007".to_owned())
            };
        }
        match named.find(|target| target.name() == text) {
            Some(target) => Ok(TargetName::Named(target)),
            None if text.contains(is_separator) || path.exists() => {
                Ok(TargetName::Path(path.to_owned()))
            }
            None => Err(format!(
                "expected {}, the path of a directory or socket, or tcp://HOST:PORT",
                Target::NAMED.map(Target::name).join(", ")
            )),
        }
    }
}

/// A target, with its path if one was given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResolvedTarget {
    pub target: Target,
    /// The value of `Conditions::path`.
    pub path: Option<String>,
}

impl From<Target> for ResolvedTarget {
    fn from(target: Target) -> Self {
        ResolvedTarget { target, path: None }
    }
}

impl ResolvedTarget {
    /// Resolves a name or path.
    ///
    /// # Errors
    ///
    /// If the path does not exist, or if writing to it would overwrite data.
    pub fn resolve(name: &TargetName) -> Result<ResolvedTarget, Failure> {
        let path = match name {
            TargetName::Named(Target::Unix) if cfg!(windows) => {
                return Err(Failure::usage(
                    "cannot measure unix: Windows has no pairs of Unix sockets; use --target tcp",
                ));
            }
            TargetName::Named(target) => return Ok(ResolvedTarget::from(*target)),
            TargetName::Remote(address) if cfg!(windows) => {
                return Err(Failure::usage(format!(
                    "cannot measure {address}: Windows does not report how many bytes of a connection have arrived; \
                     use --target tcp, or measure on Linux"
                )));
            }
            TargetName::Remote(address) => {
                return Ok(ResolvedTarget {
                    target: Target::Remote,
                    path: Some(address.clone()),
                });
            }
            TargetName::Path(path) => path,
        };
        let refused = |why: &str| {
            let path = path.display();
            Err(Failure::usage(format!(
                "cannot measure --target '{path}': {why}"
            )))
        };
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => {
                return refused(&format!(
                    "{error}; expected the path of a directory or socket"
                ));
            }
        };
        let target = match Self::kind(&metadata) {
            Ok(Target::Null) => return Ok(ResolvedTarget::from(Target::Null)),
            Ok(target) => target,
            Err(why) => return refused(why),
        };
        Ok(ResolvedTarget {
            target,
            path: Some(absolute(path)),
        })
    }

    /// The target that a path leads to, or why there is none. A device named by a path is none on Windows.
    #[cfg(windows)]
    fn kind(metadata: &fs::Metadata) -> Result<Target, &'static str> {
        if metadata.is_dir() { Ok(Target::File) } else { Err(IS_FILE) }
    }

    /// The target that a path leads to, or why there is none.
    #[cfg(unix)]
    fn kind(metadata: &fs::Metadata) -> Result<Target, &'static str> {
        let kind = metadata.file_type();
        Ok(if kind.is_dir() {
            Target::File
        } else if kind.is_socket() {
            Target::Socket
        } else if kind.is_char_device() && is_null(metadata) {
            Target::Null
        } else if !kind.is_file() {
            return Err(
                "it is neither a directory nor a socket; name pipe for a FIFO, and for a disk a directory on it",
            );
        } else {
            return Err(IS_FILE);
        })
    }
}

/// Whether a text is a name or an address and a port other than 0. An address of IPv6 stands in brackets.
fn is_host_and_port(text: &str) -> bool {
    let is_host =
        |host: &str| !host.is_empty() && (host.starts_with('[') || !host.contains(['/', ':', '@']));
    text.rsplit_once(':')
        .is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// The absolute path without links, which is also meaningful in a saved result; as it was typed if that is no text.
#[cfg(windows)]
fn absolute(path: &Path) -> String {
    // `canonicalize` would put `\\?\` before the drive.
    let absolute = std::path::absolute(path).ok();
    let absolute = absolute.and_then(|path| path.into_os_string().into_string().ok());
    absolute.unwrap_or_else(|| path.to_string_lossy().into_owned())
}

/// The absolute path without links, which is also meaningful in a saved result; as it was typed if that is no text.
#[cfg(unix)]
fn absolute(path: &Path) -> String {
    let absolute = path.canonicalize().ok();
    let absolute = absolute.and_then(|path| path.into_os_string().into_string().ok());
    // It was typed as text.
    absolute.unwrap_or_else(|| path.to_string_lossy().into_owned())
}

/// Whether a character device is `/dev/null`, under any name.
#[cfg(unix)]
fn is_null(metadata: &fs::Metadata) -> bool {
    fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_win_over_paths() {
        let find = |text: &str| text.parse::<TargetName>();
        assert_eq!(find("pipe"), Ok(TargetName::Named(Target::Pipe)));
        assert_eq!(find("./pipe"), Ok(TargetName::Path("./pipe".into())));
        assert_eq!(find(".."), Ok(TargetName::Path("..".into())));
        assert!(find("fifo").is_err());
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for right in ["tcp://h:1", "tcp://192.0.2.1:7007", "tcp://[::1]:7007"] {
            assert_eq!(right.parse(), Ok(TargetName::Remote(right.to_owned())));
        }
        for wrong in [
            "tcp://",
            "tcp://h",
            "tcp://h:0",
            "tcp://:1",
            "tcp://::1:7",
            "udp://h:1",
            "tcp://a/b:1",
        ] {
            assert!(wrong.parse::<TargetName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_null_device_is_null_under_any_name() {
        let target = ResolvedTarget::resolve(&TargetName::Path("/dev/null".into())).unwrap();
        assert_eq!(target, ResolvedTarget::from(Target::Null));
    }
}
