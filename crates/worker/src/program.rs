//! This program's own file.

use std::path::PathBuf;

/// Where to start this program from again, also where its file was removed meanwhile, as a build
/// does before it writes a newer one.
pub(crate) fn own_program() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    if path.exists() {
        return Ok(path);
    }
    Ok(PathBuf::from("/proc/self/exe"))
}
