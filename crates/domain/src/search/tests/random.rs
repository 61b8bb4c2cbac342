//! Any search, beside the rules said plainly.

use proptest::prelude::*;

use super::*;

/// The rules once more, said on whole lists of characters, for text in which lower-casing keeps
/// every character one character.
fn plainly(terms: &[String], notes: &[(String, String)], limits: SearchLimits) -> SearchAnswer {
    let mut scored: Vec<(usize, &str, Vec<char>, usize)> = Vec::new();
    let mut truncated = false;
    for (name, content) in notes {
        let content: Vec<char> = content.chars().collect();
        truncated |= content.len() > limits.note_chars_max;
        let content = content[..content.len().min(limits.note_chars_max)].to_vec();
        let lowered: String = content.iter().collect::<String>().to_lowercase();
        let score: usize = terms
            .iter()
            .map(|term| {
                lowered.matches(term.as_str()).count()
                    + 2 * name.to_lowercase().matches(term.as_str()).count()
            })
            .sum();
        let first = terms
            .iter()
            .filter_map(|term| lowered.find(term.as_str()))
            .min();
        let first = first.map_or(0, |byte| lowered[..byte].chars().count());
        if score > 0 {
            scored.push((score, name, content, first));
        }
    }
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let found = scored.len();
    scored.truncate(limits.results_max);
    let mut left = limits.result_chars_max;
    let mut matches = Vec::new();
    for (score, name, content, first) in scored {
        let Some(room) = left.checked_sub(name.len()).filter(|&room| room > 0) else {
            break;
        };
        let start = first.saturating_sub(room / 3);
        let end = content.len().min(start + room);
        let start = end.saturating_sub(room);
        let mut text = content[start..end].to_vec();
        let count = text.len();
        for (index, c) in text.iter_mut().enumerate() {
            if (start > 0 && index < 3) || (end < content.len() && index + 3 >= count) {
                *c = '.';
            }
        }
        left = room - count;
        matches.push(SearchMatch {
            file: name.to_owned(),
            snippet: text.into_iter().collect(),
            score: f64::from(u32::try_from(score).unwrap()),
        });
    }
    truncated |= matches.len() < found;
    SearchAnswer {
        matches,
        scanned: notes.len(),
        truncated,
    }
}

proptest! {
    #[test]
    fn answers_agree_with_the_rules_said_plainly(
        query in "[aAbB.固👩]{1,3}( [aAbB.固👩]{1,2}){0,3}",
        notes in prop::collection::btree_map("[abAB][ab]{0,3}(\\.md)?", "[aAbBcC. \n固👩Σσ]{0,60}", 0..8),
        results_max in 1usize..5,
        result_chars_max in 1usize..80,
        note_chars_max in 1usize..70,
    ) {
        let limits = SearchLimits { results_max, result_chars_max, note_chars_max, files_max: 99 };
        let notes: Vec<(String, String)> = notes.into_iter().collect();
        let parsed = SearchQuery::parse(&query).unwrap();
        let mut scan = Scan::new(&parsed, limits);
        // The other way round than names ascend: the order of candidates must not matter.
        for (name, content) in notes.iter().rev() {
            scan.add(name, content);
        }
        prop_assert_eq!(
            scan.finish(notes.len(), false),
            plainly(parsed.lowered_terms(), &notes, limits)
        );
    }

    #[test]
    fn any_search_stays_inside_its_bounds(
        query in any::<String>(),
        contents in prop::collection::vec(any::<String>(), 0..6),
        result_chars_max in 0usize..60,
    ) {
        let Ok(query) = SearchQuery::parse(&query) else { return Ok(()) };
        let mut scan = Scan::new(&query, SearchLimits { results_max: 3, result_chars_max, ..LIMITS });
        for (index, content) in contents.iter().enumerate() {
            scan.add(&format!("n{index}.md"), content);
        }
        let answer = scan.finish(contents.len(), false);
        let chars: usize = answer
            .matches
            .iter()
            .map(|hit| hit.file.chars().count() + hit.snippet.chars().count())
            .sum();
        prop_assert!(chars <= result_chars_max && answer.matches.len() <= 3);
    }
}
