use super::*;

#[test]
fn every_character_folds_to_what_folds_to_itself() {
    for c in '\0'..=char::MAX {
        let once = folded(&format!("a{c}b"));
        assert_eq!(folded(&once), once, "{c:?}");
        let lowered = format!("a{c}b").to_lowercase();
        assert_eq!(folded(&lowered), once, "{c:?}");
    }
}
