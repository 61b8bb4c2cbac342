//! Starting: what the binary says of settings that it can't use, and of servers that aren't there.

mod database;
mod demo;
mod dev;
mod servers;
mod settings;
mod sqlite;

use std::{
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::Stdio,
};

use tokio::net::TcpSocket;

use crate::support::{Ended, dev::finish};

/// Checks that a command failed with exit code `code` and said all of `parts`.
fn assert_failed(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    for part in parts {
        assert!(ended.stderr.contains(part), "`{part}` is not in {ended:?}");
    }
    let errors = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("error:"));
    assert_eq!(errors.count(), 1, "{ended:?}");
}

/// Writes a program. It is copied into place by another process: one that this process had open for
/// writing when it starts any other can't be run.
pub(super) fn write_program(path: &Path, text: &str) {
    let staged = path.with_extension("staged");
    std::fs::write(&staged, text).expect("write a program");
    std::fs::set_permissions(&staged, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let copied = std::process::Command::new("cp")
        .arg("-p")
        .args([&staged, path])
        .status();
    assert!(copied.expect("run cp").success());
}

/// A port that nobody listens on, for as long as the socket is held, as `host:port`.
fn refusing_port() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket
        .bind("127.0.0.1:0".parse().expect("an address"))
        .expect("a free port");
    let address = socket.local_addr().expect("an address").to_string();
    (socket, address)
}

/// Sets what others than the owner may do.
fn open_to_all(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Somebody without special rights, on every Unix.
const NOBODY: u32 = 65_534;

/// Runs the binary as somebody whose permissions count: another user where this one is root, who
/// may do everything. `directory` is open to that user.
async fn unprivileged(directory: &Path, arguments: &[&str]) -> Ended {
    // The build's own directory may be closed to others.
    let program = directory.join("notekeeper");
    if !program.exists() {
        let copied = std::process::Command::new("cp")
            .arg(env!("CARGO_BIN_EXE_notekeeper"))
            .arg(&program)
            .status();
        assert!(copied.expect("run cp").success());
    }
    let mut command = std::process::Command::new(program);
    command
        .args(arguments)
        .current_dir(directory)
        .env_remove("DATABASE_URL")
        .stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    finish(command).await
}
