//! What is made of a store's required methods, over a store that errs; and whether the suite finds
//! stores that err.

mod facts;
mod reads;
mod store;
mod transcripts;
mod vectors;

use async_trait::async_trait;
use notekeeper_domain::{NoteName, Operation, Scope};
use notekeeper_store::{
    Expected, InMemoryStore, MutationError, Names, NotePart, NoteStore, NotebookBounds, Receipt,
    StoreError, WriteRequest,
};

/// A store that always says that there are more names.
#[derive(Debug, Default)]
struct NeverDone(InMemoryStore);

#[async_trait]
impl NoteStore for NeverDone {
    fn kind(&self) -> &'static str {
        "never_done"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        self.0.read(scope, name, chars_max).await
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.0.write(scope, name, request, operation).await
    }

    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.0.delete(scope, name, expected, operation).await
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        self.0.receipt(scope, operation).await
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        let names = self.0.names(scope, names_max).await?;
        Ok(Names {
            more: true,
            ..names
        })
    }
}

#[tokio::test]
async fn a_store_that_promises_more_names_than_it_has_is_not_asked_for_ever() {
    let (store, scope) = (NeverDone::default(), Scope::parse("t/main").expect("valid"));
    let name = NoteName::parse("a.md").expect("valid");
    let request = WriteRequest::new("x", &Expected::Any);
    let written = store.write(&scope, &name, &request, None).await;
    written.expect("write");

    let bounds = NotebookBounds {
        main_chars_max: 100,
        names_max: 10,
    };
    let view = store.notebook(&scope, bounds).await.expect("a view");

    assert_eq!(
        (view.names, view.more_names),
        (vec!["a.md".to_owned()], true)
    );
}
