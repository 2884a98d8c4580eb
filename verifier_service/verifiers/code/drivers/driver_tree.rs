
    type Tree = Rc<RefCell<super::TreeNode>>;

    impl Given for Tree {
        fn given(json: Json) -> Fit<Self> {
            let items = match json {
                Json::Array(items) if !items.is_empty() => items,
                _ => return unfit("a binary tree"),
            };
            let mut nodes: Vec<Tree> = Vec::new();
            for (index, item) in items.into_iter().enumerate() {
                let parent = index.saturating_sub(1) / 2;
                if let (Json::Null, true) | (_, false) = (&item, index == 0 || parent < nodes.len()) {
                    continue;
                }
                let node = Rc::new(RefCell::new(super::TreeNode { val: Given::given(item)?, left: None, right: None }));
                if index % 2 == 1 {
                    nodes[parent].borrow_mut().left = Some(node.clone());
                } else if index > 0 {
                    nodes[parent].borrow_mut().right = Some(node.clone());
                }
                nodes.push(node);
            }
            match nodes.into_iter().next() {
                Some(root) => Ok(root),
                None => unfit("a binary tree"),
            }
        }
        fn absent(json: &Json) -> bool {
            match json {
                Json::Null => true,
                Json::Array(items) => items.is_empty() || items[0].is_null(),
                _ => false,
            }
        }
    }

    impl Json {
        fn is_null(&self) -> bool {
            match self {
                Json::Null => true,
                _ => false,
            }
        }
    }

    impl Written for Tree {
        fn written(&self, out: &mut String) {
            let mut waiting = VecDeque::new();
            waiting.push_back(Some(self.clone()));
            let (mut separator, mut gaps, mut count) = ("[", 0, 0);
            while let Some(next) = waiting.pop_front() {
                count += 1;
                if count > MOST_NODES {
                    give_up("failed", "the result is a tree without end");
                }
                let node = match next {
                    Some(node) => node,
                    None => {
                        gaps += 1; // written only if a node follows
                        continue;
                    }
                };
                out.push_str(&",null".repeat(gaps));
                gaps = 0;
                out.push_str(separator);
                separator = ",";
                node.borrow().val.written(out);
                waiting.push_back(node.borrow().left.clone());
                waiting.push_back(node.borrow().right.clone());
            }
            out.push(']');
        }
        fn absent(out: &mut String) {
            out.push_str("[]");
        }
    }
