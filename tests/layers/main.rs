//! The layers, enforced: which crate may name which, what a crate may reach, and that each keeps to
//! the sizes that the whole workspace keeps to. [`features`] holds the table of features to the tests.
//!
//! ```text
//! workflows ──► contract ──► domain ◄── store ◄── recall      domain ◄── models ◄── recall
//!                  ▲                      ▲          ▲
//!                  └────── activities ────┴──────────┘        activities also names models
//!                              ▲
//!                   worker ────┘   (also names workflows, and the constructors of stores and models)
//! ```

mod features;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

/// Each crate with the crates of this workspace that it may name, in code or in tests.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("notekeeper-domain", &[]),
    ("notekeeper-contract", &["notekeeper-domain"]),
    ("notekeeper-models", &["notekeeper-domain"]),
    ("notekeeper-store", &["notekeeper-domain"]),
    (
        "notekeeper-recall",
        &["notekeeper-domain", "notekeeper-models", "notekeeper-store"],
    ),
    (
        "notekeeper-workflows",
        &["notekeeper-contract", "notekeeper-domain"],
    ),
    (
        "notekeeper-activities",
        &[
            "notekeeper-contract",
            "notekeeper-domain",
            "notekeeper-models",
            "notekeeper-recall",
            "notekeeper-store",
        ],
    ),
    (
        "notekeeper-bench",
        &[
            "notekeeper",
            "notekeeper-activities",
            "notekeeper-contract",
            "notekeeper-domain",
            "notekeeper-models",
            "notekeeper-recall",
            "notekeeper-store",
            "notekeeper-workflows",
        ],
    ),
    // As an outsider sees it: the binary is none of its business.
    (
        "notekeeper-example-custom-store",
        &[
            "notekeeper-activities",
            "notekeeper-contract",
            "notekeeper-domain",
            "notekeeper-models",
            "notekeeper-store",
            "notekeeper-workflows",
        ],
    ),
    (
        "notekeeper-example-profile-tool",
        &[
            "notekeeper-activities",
            "notekeeper-contract",
            "notekeeper-store",
        ],
    ),
    (
        "notekeeper",
        &[
            "notekeeper-activities",
            "notekeeper-contract",
            "notekeeper-domain",
            // Its tools are what tests of conversations call.
            "notekeeper-example-profile-tool",
            "notekeeper-models",
            "notekeeper-recall",
            "notekeeper-store",
            "notekeeper-workflows",
        ],
    ),
];

/// Databases, the network and Temporal's client: what code that replays must not be able to reach,
/// by any path. `mio` and `socket2` are what tokio needs once its `net` is on.
const OUTSIDE_WORLD: &[&str] = &[
    "hyper",
    "mio",
    "reqwest",
    "rustls",
    "socket2",
    "sqlx",
    "sqlx-core",
    "temporalio-client",
    "temporalio-common",
    "temporalio-sdk",
    "temporalio-sdk-core",
];

/// The crates whose code replays.
const REPLAYED: &[&str] = &[
    "notekeeper-domain",
    "notekeeper-contract",
    "notekeeper-workflows",
];

/// The crates that don't know that Temporal exists.
const WITHOUT_TEMPORAL: &[&str] = &[
    "notekeeper-domain",
    "notekeeper-models",
    "notekeeper-store",
    "notekeeper-recall",
];

/// The parts of the SDK that workflow code may name.
const SDK_OF_WORKFLOWS: &[&str] = &[
    "temporalio-common-wasm",
    "temporalio-macros",
    "temporalio-workflow",
];

/// The one crate that reads the environment of the process; what measures it starts it with another.
const READ_THE_ENVIRONMENT: &[&str] = &["notekeeper", "notekeeper-bench"];

/// Lines of a source file, its tests left out.
const FILE_LINES_MAX: usize = 400;

fn workspace() -> Metadata {
    MetadataCommand::new()
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .expect("cargo describes the workspace")
}

fn members(workspace: &Metadata) -> BTreeMap<&str, &Package> {
    workspace
        .workspace_packages()
        .into_iter()
        .map(|package| (package.name.as_str(), package))
        .collect()
}

fn directory(package: &Package) -> PathBuf {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().expect("it is in a directory").to_owned()
}

/// The packages that end up in a crate's code, by whatever path, with the features that this crate
/// alone asks for. (`cargo metadata` would unite them with those that other members ask for.)
fn reached_by(workspace: &Metadata, package: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(&workspace.workspace_root)
        .args(["tree", "--offline", "--package", package])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .expect("package names are text")
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Every file under a directory, build output left out.
fn files_under(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("the directory can be read").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files_under(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

/// The part of a source file that comes before its tests, where these stand in a module of the file.
fn without_tests(source: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = source.lines().collect();
    let tests_begin = lines
        .windows(2)
        .position(|pair| {
            let inline = pair[1].starts_with("mod ") && pair[1].trim_end().ends_with('{');
            pair[0].trim() == "#[cfg(test)]" && inline
        })
        .unwrap_or(lines.len());
    lines.into_iter().take(tests_begin)
}

/// Whether a file holds nothing but tests.
fn is_test(path: &Path) -> bool {
    let in_tests = path.components().any(|part| part.as_os_str() == "tests");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    in_tests || name == "tests.rs" || (name.starts_with("test_") && name.ends_with(".py"))
}

#[test]
fn a_module_of_tests_in_another_file_ends_no_check_of_the_file_that_names_it() {
    let elsewhere = "#[cfg(test)]\nmod clock;\nuse std::env;";
    assert_eq!(without_tests(elsewhere).last(), Some("use std::env;"));
    let inline = "fn code() {}\n#[cfg(test)]\nmod tests {\n    use std::env;\n}";
    assert_eq!(without_tests(inline).collect::<Vec<_>>(), ["fn code() {}"]);
}

#[test]
fn every_crate_names_only_the_crates_below_it() {
    let workspace = workspace();
    let members = members(&workspace);
    let may_name: BTreeMap<_, _> = MAY_NAME.iter().copied().collect();
    let mut refused = Vec::new();
    for (name, package) in &members {
        let Some(allowed) = may_name.get(name) else {
            refused.push(format!("`{name}` has no place among the layers yet"));
            continue;
        };
        let named = package.dependencies.iter().map(|other| other.name.as_str());
        refused.extend(
            named
                .filter(|other| members.contains_key(other) && other != name)
                .filter(|other| !allowed.contains(other))
                .map(|other| format!("`{name}` may not name `{other}`")),
        );
    }
    assert_eq!(refused, [""; 0]);
}

#[test]
fn code_that_replays_reaches_no_database_network_or_client() {
    let workspace = workspace();
    for package in REPLAYED {
        let reached = reached_by(&workspace, package);
        assert!(
            reached.contains("notekeeper-domain"),
            "the tree of `{package}` was read"
        );
        let refused: Vec<_> = OUTSIDE_WORLD
            .iter()
            .filter(|outside| reached.contains(**outside))
            .collect();
        assert!(refused.is_empty(), "`{package}` reaches {refused:?}");
    }
}

#[test]
fn stores_sources_and_models_do_not_know_temporal() {
    let workspace = workspace();
    let members = members(&workspace);
    for package in WITHOUT_TEMPORAL
        .iter()
        .filter(|name| members.contains_key(*name))
    {
        // What its tests name counts as well.
        let named = members[package].dependencies.iter();
        let refused: Vec<_> = reached_by(&workspace, package)
            .into_iter()
            .chain(named.map(|other| other.name.clone()))
            .filter(|reached| reached.starts_with("temporalio"))
            .collect();
        assert!(refused.is_empty(), "`{package}` reaches {refused:?}");
    }
}

#[test]
fn workflow_code_names_the_workflow_side_of_the_sdk_alone() {
    let workspace = workspace();
    let workflows = members(&workspace)["notekeeper-workflows"];
    let named: BTreeSet<_> = workflows
        .dependencies
        .iter()
        .filter(|other| other.kind == DependencyKind::Normal)
        .map(|other| other.name.as_str())
        .filter(|other| other.starts_with("temporalio"))
        .collect();
    let allowed = SDK_OF_WORKFLOWS.iter().copied().collect();
    assert!(
        named.is_subset(&allowed),
        "workflow code names {:?}",
        named.difference(&allowed).collect::<Vec<_>>()
    );
    assert!(named.contains("temporalio-workflow"));
}

#[test]
fn only_the_worker_reads_the_environment() {
    let workspace = workspace();
    let mut refused = Vec::new();
    for (name, package) in members(&workspace) {
        if READ_THE_ENVIRONMENT.contains(&name) {
            continue;
        }
        let mut sources = Vec::new();
        files_under(&directory(package).join("src"), &mut sources);
        for path in sources.iter().filter(|path| !is_test(path)) {
            let source = std::fs::read_to_string(path).expect("sources are text");
            let reads = |line: &&str| {
                let code = line.split("//").next().unwrap_or_default();
                code.contains("std::env::")
                    || code.contains("use std::env")
                    || code.contains("env::var")
            };
            refused.extend(
                without_tests(&source)
                    .filter(reads)
                    .map(|line| format!("{}: {}", path.display(), line.trim())),
            );
        }
    }
    assert_eq!(refused, [""; 0]);
}

#[test]
fn no_file_is_longer_than_four_hundred_lines_outside_its_tests() {
    let workspace = workspace();
    let root = workspace.workspace_root.as_std_path();
    let mut files = Vec::new();
    for part in ["crates", "workflows", "migrations", "scripts", "bench"] {
        files_under(&root.join(part), &mut files);
    }
    let counted: Vec<(PathBuf, usize)> = files
        .into_iter()
        .filter(|path| {
            let extension = path.extension().unwrap_or_default();
            ["rs", "py", "sql"].iter().any(|known| extension == *known) && !is_test(path)
        })
        .map(|path| {
            let source = std::fs::read_to_string(&path).expect("sources are text");
            let lines = without_tests(&source).count();
            (path, lines)
        })
        .collect();
    assert!(counted.len() > 50, "the sources were found");
    let too_long: Vec<_> = counted
        .iter()
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .collect();
    assert!(too_long.is_empty(), "{too_long:#?}");
}

#[test]
fn a_crate_with_lint_settings_of_its_own_repeats_the_thresholds() {
    let workspace = workspace();
    let root = workspace.workspace_root.as_std_path();
    let settings = |directory: &Path| -> Option<toml::Table> {
        let text = std::fs::read_to_string(directory.join("clippy.toml")).ok()?;
        Some(text.parse().expect("clippy.toml is TOML"))
    };
    let thresholds = |table: toml::Table| -> BTreeMap<String, toml::Value> {
        table
            .into_iter()
            .filter(|(key, _)| key.ends_with("-threshold"))
            .collect()
    };
    let expected = thresholds(settings(root).expect("the workspace has a clippy.toml"));
    assert_eq!(
        expected.get("too-many-lines-threshold"),
        Some(&toml::Value::Integer(70))
    );
    for (name, package) in members(&workspace) {
        if let Some(own) = settings(&directory(package)) {
            assert_eq!(thresholds(own), expected, "clippy.toml of `{name}`");
        }
    }
}

#[test]
fn code_that_replays_is_forbidden_the_clock_by_its_lint_settings() {
    let workspace = workspace();
    let members = members(&workspace);
    for name in ["notekeeper-domain", "notekeeper-workflows"] {
        let path = directory(members[name]).join("clippy.toml");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let settings: toml::Table = text.parse().expect("clippy.toml is TOML");
        let forbidden: Vec<&str> = settings
            .get("disallowed-methods")
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.get("path").and_then(toml::Value::as_str))
            .collect();
        for method in [
            "std::time::SystemTime::now",
            "std::time::Instant::now",
            "std::thread::sleep",
        ] {
            assert!(
                forbidden.contains(&method),
                "{} doesn't forbid `{method}`",
                path.display()
            );
        }
    }
}
