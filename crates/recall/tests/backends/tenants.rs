//! No source finds what is another tenant's.

use serde_json::json;

use crate::{
    fixture::{Tenant, item},
    stores::{Kept, on_each_store},
};

on_each_store!(tenants_whose_names_look_alike_see_nothing_of_each_other);

async fn tenants_whose_names_look_alike_see_nothing_of_each_other(kept: Kept) {
    let names = [
        "john-doe", "john_doe", "john.doe", "john", "johnxdoe", "0", "00",
    ];
    for source in kept.writable() {
        for (index, name) in names.iter().enumerate() {
            let tenant = Tenant::of(name);
            let entries = json!({"id": "1", "path": "1.md", "owner": name});
            let items = [item(&format!("alpha of tenant{index}"), entries)];
            tenant.write(&*source, &items, "op").await.expect("write");
        }
        for (index, name) in names.iter().enumerate() {
            let tenant = Tenant::of(name);
            let found = tenant.found(&*source, "alpha", 100).await;
            assert_eq!(found.len(), 1, "{name} of {}", source.name());
            let own = format!("alpha of tenant{index}");
            assert!(
                found[0].content.ends_with(&own),
                "{name} of {}",
                source.name()
            );
        }
        let nobody = Tenant::of("nobody");
        let found = nobody.found(&*source, "alpha", 100).await;
        assert_eq!(found, [], "{}", source.name());
    }
}
