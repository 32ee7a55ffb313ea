//! Parses targets and their paths.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::str::FromStr;

use vectored_results::model::Target;

const IS_FILE: &str = "it is an existing file, and vectored overwrites no file; name its directory, for a temporary file in \
 it";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetPath {
    pub target: Target,
    /// The value for `Conditions::path`.
    pub path: Option<String>,
}

impl From<Target> for TargetPath {
    fn from(target: Target) -> Self {
        TargetPath { target, path: None }
    }
}

impl FromStr for TargetPath {
    type Err = String;

    /// Parses a name of a target, an existing path, or `tcp://HOST:PORT` for a program that reads from TCP.
    ///
    /// # Errors
    ///
    /// The function fails if the text is no target, or if writing to the path would overwrite data.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((scheme, address)) = text.split_once("://") {
            return match (scheme == "tcp" && is_host_and_port(address), cfg!(windows)) {
                (false, _) => {
                    Err("expected tcp://HOST:PORT, for example tcp://192.0.2.1:7007".to_owned())
                }
                (true, true) => Err(
                    "Windows does not report how many bytes of a connection have arrived; use \
                     --target tcp, or measure on Linux"
                        .to_owned(),
                ),
                (true, false) => Ok(TargetPath {
                    target: Target::Remote,
                    path: Some(text.to_owned()),
                }),
            };
        }
        match Target::NAMED
            .into_iter()
            .find(|target| target.name() == text)
        {
            Some(Target::Unix) if cfg!(windows) => {
                return Err("Windows has no pairs of Unix sockets; use --target tcp".to_owned());
            }
            Some(target) => return Ok(TargetPath::from(target)),
            None => {}
        }
        let path = Path::new(text);
        let found = fs::metadata(path).map_err(|error| {
            format!(
                "{error}; expected {}, the path of a directory or socket, or tcp://HOST:PORT",
                Target::NAMED.map(Target::name).join(", ")
            )
        })?;
        Ok(match Self::kind(&found)? {
            Target::Null => TargetPath::from(Target::Null),
            target => TargetPath {
                target,
                path: Some(absolute(path)),
            },
        })
    }
}

impl TargetPath {
    #[cfg(windows)]
    fn kind(metadata: &fs::Metadata) -> Result<Target, &'static str> {
        if metadata.is_dir() { Ok(Target::File) } else { Err(IS_FILE) }
    }

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

/// Accepts a name or an address, a colon, and a port other than 0. An IPv6 address needs brackets.
fn is_host_and_port(text: &str) -> bool {
    let is_host =
        |host: &str| !host.is_empty() && (host.starts_with('[') || !host.contains(['/', ':', '@']));
    text.rsplit_once(':')
        .is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// A saved result needs an absolute path. If the absolute path is not valid text, the function returns the typed
/// path.
#[cfg(windows)]
fn absolute(path: &Path) -> String {
    // `canonicalize` puts `\\?\` before the drive.
    let absolute = std::path::absolute(path).ok();
    let absolute = absolute.and_then(|path| path.into_os_string().into_string().ok());
    absolute.unwrap_or_else(|| path.to_string_lossy().into_owned())
}

/// A saved result needs an absolute path without links. If the absolute path is not valid text, the function returns
/// the typed path.
#[cfg(unix)]
fn absolute(path: &Path) -> String {
    let absolute = path.canonicalize().ok();
    let absolute = absolute.and_then(|path| path.into_os_string().into_string().ok());
    // The typed path is valid UTF-8, because it was parsed from text.
    absolute.unwrap_or_else(|| path.to_string_lossy().into_owned())
}

#[cfg(unix)]
fn is_null(metadata: &fs::Metadata) -> bool {
    fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev())
}
