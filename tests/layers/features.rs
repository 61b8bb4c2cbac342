//! The table of features: every test that it names exists.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const TABLE: &str = "docs/features.md";

/// Where tests are.
const ROOTS: &[&str] = &["crates", "workflows", "tests", "examples"];

/// What a file with this stem shows: its functions, or its topics.
fn tests_by_stem(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    for part in ROOTS {
        collect(&root.join(part), &mut files);
    }
    let mut tests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let names = match file.extension().and_then(|extension| extension.to_str()) {
            // A file of vectors is a topic with a test of its name.
            Some("json") => BTreeSet::from([stem.to_string()]),
            _ => functions(&fs::read_to_string(&file).expect("a source file")),
        };
        for stem in stems(&file) {
            tests.entry(stem).or_default().extend(names.clone());
        }
    }
    tests
}

/// The names under which a file is spoken of: its own, or for `main`, `mod` and `tests` that of its
/// directory; files of vectors all as `vectors`.
fn stems(file: &Path) -> Vec<String> {
    let name = |path: &Path| {
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let directory = file.parent().map(name).unwrap_or_default();
    if file
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        return vec!["vectors".to_owned()];
    }
    match name(file).as_str() {
        "main" | "mod" | "tests" => vec![directory],
        stem => vec![stem.to_owned()],
    }
}

/// Names of what is defined as `fn NAME` or, in Python, `def NAME`.
fn functions(source: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    source
        .lines()
        .filter_map(|line| {
            let rest = line
                .split_once("fn ")
                .or_else(|| line.split_once("def "))?
                .1;
            let name: String = rest.chars().take_while(|&c| is_name(c)).collect();
            (!name.is_empty()).then_some(name)
        })
        .collect()
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
            continue;
        }
        let is_source = path.extension().is_some_and(|e| e == "rs" || e == "py");
        let is_vectors = path.parent().is_some_and(|p| p.ends_with("vectors/data"))
            && path.extension().is_some_and(|e| e == "json");
        if is_source || is_vectors {
            files.push(path);
        }
    }
}

/// The rows of the tables: what stands in their cells.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .filter(|cells: &Vec<&str>| cells.first() != Some(&"feature"))
}

/// The words between single backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn each_feature_names_tests_that_exist() {
    let root = super::workspace().workspace_root.into_std_path_buf();
    let table = fs::read_to_string(root.join(TABLE)).expect("the table of features");
    let tests = tests_by_stem(&root);
    let mut found = 0;
    for cells in rows(&table) {
        let [feature, shown_by] = cells[..] else {
            panic!("a row of {TABLE} has not two cells: {cells:?}");
        };
        let named: Vec<_> = quoted(shown_by).collect();
        assert!(!named.is_empty(), "nothing shows: {feature}");
        for name in named {
            let (stem, test) = name.split_once("::").expect("`file::test`");
            let known = tests.get(stem).is_some_and(|names| names.contains(test));
            assert!(
                known,
                "{TABLE} names `{name}`, which doesn't exist: {feature}"
            );
        }
        found += 1;
    }
    assert!(found > 50, "the table has {found} rows only");
}
