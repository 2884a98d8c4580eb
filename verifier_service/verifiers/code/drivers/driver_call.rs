
    /// What may be the key of a map: JSON has no keys but strings.
    pub trait Key: Sized {
        fn name(&self) -> String;
        fn of(name: String) -> Fit<Self>;
    }

    impl Key for String {
        fn name(&self) -> String {
            self.clone()
        }
        fn of(name: String) -> Fit<Self> {
            Ok(name)
        }
    }

    impl Key for &'static str {
        fn name(&self) -> String {
            self.to_string()
        }
        fn of(name: String) -> Fit<Self> {
            Ok(Box::leak(name.into_boxed_str()))
        }
    }

    impl Key for char {
        fn name(&self) -> String {
            self.to_string()
        }
        fn of(name: String) -> Fit<Self> {
            Self::given(Json::Text(name))
        }
    }

    macro_rules! maps {
        ($($kind:ident: $($bound:path),*;)*) => {$(
            impl<K: Key $(+ $bound)*, V: Given> Given for $kind<K, V> {
                fn given(json: Json) -> Fit<Self> {
                    match json {
                        Json::Object(items) => items.into_iter().map(|(name, item)| Ok((K::of(name)?, V::given(item)?))).collect(),
                        _ => unfit("a map"),
                    }
                }
            }
            impl<K: Key, V: Written> Written for $kind<K, V> {
                fn written(&self, out: &mut String) {
                    out.push('{');
                    for (index, (name, value)) in self.iter().enumerate() {
                        if index > 0 {
                            out.push(',');
                        }
                        name.name().written(out);
                        out.push(':');
                        value.written(out);
                    }
                    out.push('}');
                }
            }
        )*};
    }
    maps!(HashMap: Eq, ::std::hash::Hash; BTreeMap: Ord;);

    // ---- results

    pub trait Written {
        fn written(&self, out: &mut String);
        /// What None of an `Option` of this is.
        fn absent(out: &mut String) {
            out.push_str("null");
        }
    }

    impl Written for str {
        fn written(&self, out: &mut String) {
            out.push('"');
            for letter in self.chars() {
                match letter {
                    '"' => out.push_str("\\\""),
                    '\\' => out.push_str("\\\\"),
                    low if (low as u32) < 0x20 => out.push_str(&::std::format!("\\u{:04x}", low as u32)),
                    other => out.push(other),
                }
            }
            out.push('"');
        }
    }

    impl Written for String {
        fn written(&self, out: &mut String) {
            self.as_str().written(out)
        }
    }

    impl Written for char {
        fn written(&self, out: &mut String) {
            self.to_string().written(out)
        }
    }

    impl Written for bool {
        fn written(&self, out: &mut String) {
            out.push_str(if *self { "true" } else { "false" });
        }
    }

    impl Written for () {
        fn written(&self, out: &mut String) {
            out.push_str("null");
        }
    }

    fn all<'a, T: Written + 'a>(items: impl Iterator<Item = &'a T>, out: &mut String) {
        out.push('[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                out.push(',');
            }
            item.written(out);
        }
        out.push(']');
    }

    macro_rules! sequences {
        ($($kind:ident)*) => {$(
            impl<T: Written> Written for $kind<T> {
                fn written(&self, out: &mut String) {
                    all(self.iter(), out)
                }
            }
        )*};
    }
    sequences!(Vec VecDeque BTreeSet);

    impl<T: Written> Written for [T] {
        fn written(&self, out: &mut String) {
            all(self.iter(), out)
        }
    }

    impl<T: Written, const N: usize> Written for [T; N] {
        fn written(&self, out: &mut String) {
            all(self.iter(), out)
        }
    }

    impl<T: Written + Ord> Written for HashSet<T> {
        fn written(&self, out: &mut String) {
            all(self.iter().collect::<BTreeSet<_>>().into_iter(), out)
        }
    }

    impl<T: Written + ?Sized> Written for &T {
        fn written(&self, out: &mut String) {
            (**self).written(out)
        }
        fn absent(out: &mut String) {
            out.push_str("null");
        }
    }

    impl<T: Written + ?Sized> Written for &mut T {
        fn written(&self, out: &mut String) {
            (**self).written(out)
        }
    }

    impl<T: Written> Written for Box<T> {
        fn written(&self, out: &mut String) {
            (**self).written(out)
        }
        fn absent(out: &mut String) {
            T::absent(out)
        }
    }

    impl<T: Written> Written for Option<T> {
        fn written(&self, out: &mut String) {
            match self {
                Some(value) => value.written(out),
                None => T::absent(out),
            }
        }
    }

    impl<T: Written, E: ::std::fmt::Debug> Written for Result<T, E> {
        fn written(&self, out: &mut String) {
            match self {
                Ok(value) => value.written(out),
                Err(error) => {
                    let _ = ::std::io::stderr().write_all(::std::format!("the entry point returned Err({:?})\n", error).as_bytes());
                    ::std::process::exit(1)
                }
            }
        }
    }

    macro_rules! tuples {
        ($(($($name:ident $place:tt),*))*) => {$(
            impl<$($name: Written),*> Written for ($($name,)*) {
                fn written(&self, out: &mut String) {
                    $(
                        out.push_str(if $place == 0 { "[" } else { "," });
                        self.$place.written(out);
                    )*
                    out.push(']');
                }
            }
            impl<$($name: Given),*> Given for ($($name,)*) {
                fn given(json: Json) -> Fit<Self> {
                    match json {
                        Json::Array(items) => {
                            let mut items = items.into_iter();
                            let found = ($($name::given(items.next().ok_or("a tuple of this size")?)?,)*);
                            if items.next().is_some() { unfit("a tuple of this size") } else { Ok(found) }
                        }
                        _ => unfit("a tuple"),
                    }
                }
            }
        )*};
    }
    tuples!((A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4) (A 0, B 1, C 2, D 3, E 4, F 5));

    // ---- the call

    pub trait Entry<P> {
        fn call(&self, args: &mut Args) -> Fit<String>;
    }

    macro_rules! entries {
        ($(($($name:ident)*))*) => {$(
            impl<Callee, Out, $($name),*> Entry<($($name,)*)> for Callee
            where
                Callee: Fn($($name),*) -> Out,
                Out: Written,
                $($name: Given,)*
            {
                fn call(&self, args: &mut Args) -> Fit<String> {
                    $(let $name = $name::take(args)?;)*
                    if args.items.next().is_some() {
                        return unfit("anything: the entry point takes fewer arguments");
                    }
                    let result = self($($name),*);
                    let mut json = String::new();
                    result.written(&mut json);
                    ::std::mem::forget(result);
                    Ok(json)
                }
            }
        )*};
    }
    entries!(() (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H));

    fn written_again(json: &Json, out: &mut String) {
        match json {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => value.written(out),
            Json::Number(text) => out.push_str(text),
            Json::Text(text) => text.written(out),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    written_again(item, out);
                }
                out.push(']');
            }
            Json::Object(items) => {
                out.push('{');
                for (index, (name, item)) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    name.written(out);
                    out.push(':');
                    written_again(item, out);
                }
                out.push('}');
            }
        }
    }

    pub fn serve<P, F: Entry<P>>(entry: F, inplace: Option<usize>) {
        let mut input = String::new();
        let _ = ::std::io::stdin().read_to_string(&mut input);
        for line in input.lines() {
            let items = match (Parser { text: line.as_bytes(), at: 0 }).value() {
                Json::Array(items) => items,
                _ => Vec::new(),
            };
            let mut unchanged = String::new();
            if let Some(json) = inplace.and_then(|index| items.get(index)) {
                written_again(json, &mut unchanged);
            }
            ARGUMENT.with(|argument| argument.set(0));
            KEPT.with(|kept| kept.borrow_mut().clear());
            let result = match entry.call(&mut Args { items: items.into_iter() }) {
                Ok(json) => json,
                Err(wanted) => {
                    let number = ARGUMENT.with(|argument| argument.get());
                    give_up("failed", &::std::format!("argument {} can't be given as {}", number, wanted))
                }
            };
            match inplace {
                None => report("answer", &result),
                Some(index) => {
                    let mut changed = String::new();
                    KEPT.with(|kept| kept.borrow().iter().filter(|one| one.0 == index + 1).for_each(|one| (one.1)(&mut changed)));
                    report("answer", if changed.is_empty() { &unchanged } else { &changed });
                }
            }
            CASE.with(|case| case.set(case.get() + 1));
        }
        ::std::process::exit(0)
    }
