
    impl Given for super::ListNode {
        fn given(json: Json) -> Fit<Self> {
            let mut next = None;
            let mut items = match json {
                Json::Array(items) => items,
                _ => return unfit("a linked list"),
            };
            while items.len() > 1 {
                let val = Given::given(items.pop().unwrap_or(Json::Null))?;
                next = Some(Box::new(super::ListNode { val, next }));
            }
            let val = Given::given(items.pop().unwrap_or(Json::Null))?;
            Ok(super::ListNode { val, next })
        }
        fn absent(json: &Json) -> bool {
            match json {
                Json::Null => true,
                Json::Array(items) => items.is_empty(),
                _ => false,
            }
        }
    }

    impl Written for super::ListNode {
        fn written(&self, out: &mut String) {
            let mut node = Some(self);
            let mut separator = '[';
            while let Some(one) = node {
                out.push(separator);
                one.val.written(out);
                separator = ',';
                node = one.next.as_deref();
            }
            out.push(']');
        }
        fn absent(out: &mut String) {
            out.push_str("[]");
        }
    }
