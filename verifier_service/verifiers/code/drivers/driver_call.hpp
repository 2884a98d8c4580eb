// The second half of the driver, still before the submission: results as JSON, and the call.

namespace verifier_driver {

// ---- C arrays; the length is an argument of its own

template <class T> std::map<const T*, std::size_t>& lengths() {
    static std::map<const T*, std::size_t> known;
    return known;
}

template <class T> struct From<T*, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, char>>> {
    static T* read(Reader& in) {
        auto values = verifier_driver::read<std::deque<T>>(in);
        T* out = new T[values.size() + 1]();
        std::copy(values.begin(), values.end(), out);
        lengths<T>()[out] = values.size();
        return out;
    }
};

// ---- results

template <class T, class = void> struct To {
    static_assert(never<T>, "the result, or the argument that is compared, has a type that can't be written as JSON");
    static void write(std::string&, const T&);
};

template <class T> void write(std::string& out, const T& value) { To<T>::write(out, value); }

template <> struct To<bool> {
    static void write(std::string& out, bool value) { out += value ? "true" : "false"; }
};

template <> struct To<std::nullptr_t> {
    static void write(std::string& out, std::nullptr_t) { out += "null"; }
};

template <class T> struct To<T, std::enable_if_t<is_number<T>>> {
    static void write(std::string& out, T value) {
        char digits[44];
        char* at = digits + sizeof digits;
        bool negative = value < T(0);
        do {
            int digit = static_cast<int>(value % 10);
            *--at = static_cast<char>('0' + (digit < 0 ? -digit : digit));
            value /= 10;
        } while (value != 0);
        if (negative) *--at = '-';
        out.append(at, digits + sizeof digits);
    }
};

template <class T> struct To<T, std::enable_if_t<std::is_floating_point_v<T>>> {
    static void write(std::string& out, T value) {
        if (value != value) {
            out += "NaN";
        } else if (value - value != 0) {
            out += value < 0 ? "-Infinity" : "Infinity";
        } else {
            char text[64];
            std::string_view all(text, static_cast<unsigned long>(std::to_chars(text, text + sizeof text, value).ptr - text));
            out += all;
            if (all.find_first_of(".e") == all.npos) out += ".0";
        }
    }
};

template <> struct To<std::string_view> {
    static void write(std::string& out, std::string_view value) { quote(out, value); }
};

template <> struct To<std::string> : To<std::string_view> {};

template <> struct To<char> {
    static void write(std::string& out, char value) { quote(out, {&value, 1}); }
};

template <> struct To<const char*> {
    static void write(std::string& out, const char* value) {
        if (value) return quote(out, value);
        out += "null";
    }
};

template <> struct To<char*> : To<const char*> {};

template <class C> struct ToSequence {
    static void write(std::string& out, const C& values) {
        bool first = true;
        out += '[';
        for (auto&& value : values) {
            if (!first) out += ',';
            first = false;
            verifier_driver::write<typename C::value_type>(out, value);
        }
        out += ']';
    }
};

template <class C> struct ToSorted {  // what has no order of its own is written in order
    static void write(std::string& out, const C& values) {
        std::multiset<typename C::value_type> sorted(values.begin(), values.end());
        verifier_driver::write(out, sorted);
    }
};

template <class... P> struct To<std::vector<P...>> : ToSequence<std::vector<P...>> {};
template <class... P> struct To<std::deque<P...>> : ToSequence<std::deque<P...>> {};
template <class... P> struct To<std::list<P...>> : ToSequence<std::list<P...>> {};
template <class T, std::size_t N> struct To<std::array<T, N>> : ToSequence<std::array<T, N>> {};
template <class... P> struct To<std::set<P...>> : ToSequence<std::set<P...>> {};
template <class... P> struct To<std::multiset<P...>> : ToSequence<std::multiset<P...>> {};
template <class... P> struct To<std::unordered_set<P...>> : ToSorted<std::unordered_set<P...>> {};
template <class... P> struct To<std::unordered_multiset<P...>> : ToSorted<std::unordered_multiset<P...>> {};

template <class T> struct To<std::optional<T>> {
    static void write(std::string& out, const std::optional<T>& value) {
        if (value) return verifier_driver::write(out, *value);
        out += "null";
    }
};

template <class Tuple> struct ToTuple {
    static void write(std::string& out, const Tuple& value) {
        out += '[';
        std::apply(
            [&](const auto&... items) {
                bool first = true;
                ((out += first ? "" : ",", first = false, verifier_driver::write(out, items)), ...);
            },
            value);
        out += ']';
    }
};

template <class A, class B> struct To<std::pair<A, B>> : ToTuple<std::pair<A, B>> {};
template <class... T> struct To<std::tuple<T...>> : ToTuple<std::tuple<T...>> {};

template <class M> struct ToMap {
    static void write(std::string& out, const M& values) {
        bool first = true;
        out += '{';
        for (auto&& [name, value] : values) {
            if (!first) out += ',';
            first = false;
            std::string key;
            verifier_driver::write(key, name);
            if (key[0] == '"') {
                out += key;
            } else {
                quote(out, key);
            }
            out += ':';
            verifier_driver::write(out, value);
        }
        out += '}';
    }
};

template <class... P> struct To<std::map<P...>> : ToMap<std::map<P...>> {};
template <class... P> struct To<std::multimap<P...>> : ToMap<std::multimap<P...>> {};
template <class... P> struct To<std::unordered_map<P...>> : ToMap<std::unordered_map<P...>> {};

template <class N> struct To<N*, std::enable_if_t<is_list<N>::value && !is_tree<N>::value>> {
    static void write(std::string& out, const N* node) {
        std::size_t count = 0;
        out += '[';
        for (; node; node = node->next) {
            if (++count > most_nodes) give_up("failed", "the result is a linked list without end");
            if (count > 1) out += ',';
            verifier_driver::write(out, node->val);
        }
        out += ']';
    }
};

template <class N> struct To<N*, std::enable_if_t<is_tree<N>::value>> {
    static void write(std::string& out, const N* root) {
        std::deque<const N*> waiting{root};
        std::size_t count = 0, gaps = 0;
        out += '[';
        for (; !waiting.empty(); waiting.pop_front()) {
            if (++count > most_nodes) give_up("failed", "the result is a tree without end");
            const N* node = waiting.front();
            if (!node) {
                ++gaps;  // written only if a node follows
                continue;
            }
            for (; gaps; --gaps) out += "null,";
            verifier_driver::write(out, node->val);
            out += ',';
            waiting.push_back(node->left);
            waiting.push_back(node->right);
        }
        if (out.back() == ',') out.pop_back();
        out += ']';
    }
};

template <class T> struct To<T*, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<std::remove_const_t<T>, char>>> {
    static void write(std::string& out, T* values) {
        auto known = lengths<std::remove_const_t<T>>().find(values);
        if (known == lengths<std::remove_const_t<T>>().end()) give_up("unwritable", "the result is an array of unknown length");
        verifier_driver::write(out, std::vector<std::remove_const_t<T>>(values, values + known->second));
    }
};

// ---- the call

template <int N> using Arity = std::integral_constant<int, N>;
using Inplace = int;
template <int... N> using Arities = std::integer_sequence<int, N...>;
struct Absent {};
struct Here {};

template <class T> using Value = std::remove_cv_t<std::remove_reference_t<T>>;

template <class R, class... A> struct Signature {
    using Result = R;
    using Values = std::tuple<Value<A>...>;
    static constexpr int size = sizeof...(A);
    template <int I> using Parameter = std::tuple_element_t<I, std::tuple<A...>>;
};

// The signature of what has one; `Here` only makes the question depend on a template's parameter.
template <class R, class... A> Signature<R, A...> signature(Here, R (*)(A...));
template <class C, class R, class... A> Signature<R, A...> signature(Here, R (C::*)(A...));
template <class C, class R, class... A> Signature<R, A...> signature(Here, R (C::*)(A...) const);
template <class O> auto signature(Here here, O*) -> decltype(signature(here, &O::operator()));

// The one signature with so many parameters among those of an overloaded name.
#define VERIFIER_OPEN(...) __VA_ARGS__
#define VERIFIER_OVERLOAD(count, names, types)                                                                         \
    template <class R, VERIFIER_OPEN names> Signature<R, VERIFIER_OPEN types> overload(Arity<count>, R (*) types);     \
    template <class O, class R, VERIFIER_OPEN names>                                                                   \
    Signature<R, VERIFIER_OPEN types> overload(Arity<count>, R (O::*) types);                                          \
    template <class O, class R, VERIFIER_OPEN names>                                                                   \
    Signature<R, VERIFIER_OPEN types> overload(Arity<count>, R (O::*) types const);

VERIFIER_OVERLOAD(1, (class A), (A))
VERIFIER_OVERLOAD(2, (class A, class B), (A, B))
VERIFIER_OVERLOAD(3, (class A, class B, class C), (A, B, C))
VERIFIER_OVERLOAD(4, (class A, class B, class C, class D), (A, B, C, D))
VERIFIER_OVERLOAD(5, (class A, class B, class C, class D, class E), (A, B, C, D, E))
VERIFIER_OVERLOAD(6, (class A, class B, class C, class D, class E, class F), (A, B, C, D, E, F))
#undef VERIFIER_OVERLOAD
#undef VERIFIER_OPEN

template <class Parameter, bool kept> decltype(auto) pass(Value<Parameter>& value) {
    if constexpr (std::is_lvalue_reference_v<Parameter>) {
        return static_cast<Parameter>(value);
    } else if constexpr (kept) {
        return Value<Parameter>(value);
    } else {
        return std::move(value);
    }
}

template <class T> T argument(Reader& in, int index) {
    in.argument = index + 1;
    if (index && !in.take(',')) in.refuse("anything: it is not there");
    return read<T>(in);
}

template <class Known, Inplace inplace, class Call, std::size_t... I>
void answer(Reader& in, Call call, std::index_sequence<I...>) {
    if (!in.take('[')) in.refuse("an array of arguments");
    std::tuple<std::tuple_element_t<I, typename Known::Values>...> values{
        argument<std::tuple_element_t<I, typename Known::Values>>(in, static_cast<int>(I))...};
    std::string json;
    auto called = [&]() -> decltype(auto) {
        return call(pass<typename Known::template Parameter<I>, int(I) == inplace>(std::get<I>(values))...);
    };
    if constexpr (inplace >= 0) {
        static_cast<void>(called());
        write(json, std::get<static_cast<std::size_t>(inplace)>(values));
    } else if constexpr (std::is_void_v<typename Known::Result>) {
        called();
        json = "null";
    } else {
        auto&& result = called();
        write<Value<typename Known::Result>>(json, result);
    }
    report("answer", json);
}

// What has no such signature (a template, overloads with as many parameters) is called with the types that the arguments
// of the cases have by themselves: VerifierGuess::of is declared for these.
template <class... A> struct Types {};
template <class Call, class... A>
auto signature_for(Types<A...>) -> Signature<decltype(std::declval<const Call&>()(std::declval<A&>()...)), A&...>;

template <int rank> struct Rank : Rank<rank - 1> {};
template <> struct Rank<0> {};
template <class Find, class Call, class Guess, int N> auto find(Rank<3>) -> decltype(Find::known(Here()));
template <class Find, class Call, class Guess, int N> auto find(Rank<2>) -> decltype(Find::among(Arity<N>()));
template <class Find, class Call, class Guess, int N>
auto find(Rank<1>) -> decltype(signature_for<Call>(Guess::of(Arity<N>())));
template <class Find, class Call, class Guess, int N> Absent find(Rank<0>);

template <class Known, int N, Inplace inplace, class Call> void answer_with(Reader& in, Call call) {
    if constexpr (Known::size < N) {
        give_up("failed", "the entry point takes fewer than " + std::to_string(N) + " arguments");
    } else {
        answer<Known, inplace>(in, call, std::make_index_sequence<N>());
    }
}

template <class Find, class Call, class Guess, Inplace inplace, int N> void answer_case(Reader& in) {
    using Known = decltype(find<Find, Call, Guess, N>(Rank<3>()));
    static_assert(!std::is_same_v<Known, Absent>,
                  "there is no such entry point, or it is a template or overloaded and doesn't take what the cases give");
    if constexpr (!std::is_same_v<Known, Absent>) answer_with<Known, N, inplace>(in, Call());
}

inline int count_arguments(Reader in) {
    int count = 0, depth = 0;
    bool quoted = false, any = false;
    for (; in.at < in.end; ++in.at) {
        char c = *in.at;
        if (quoted) {
            if (c == '\\') ++in.at;
            else if (c == '"') quoted = false;
            continue;
        }
        if (c == '"') quoted = true;
        if (depth >= 1 && c != ' ' && c != ']') any = true;
        if (c == '[' || c == '{') ++depth;
        if (c == ']' || c == '}') --depth;
        if (c == ',' && depth == 1) ++count;
        if (depth == 0) break;
    }
    return any ? count + 1 : 0;
}

// Reads everything, so that the submission finds an empty stdin, and answers line by line.
template <class Find, class Call, class Guess, Inplace inplace, int... N> void serve(Arities<N...>) {
    channel = verifier_dup(1);
    auto* input = new std::string();
    char part[1 << 16];
    while (std::size_t got = std::fread(part, 1, sizeof part, stdin)) input->append(part, got);
    const char* at = input->data();
    const char* const end = at + input->size();
    while (at < end) {
        const char* stop = std::find(at, end, '\n');
        Reader in{at, stop};
        int given = count_arguments(in);
        bool known = ((given == N && (answer_case<Find, Call, Guess, inplace, N>(in), true)) || ...);
        if (!known) give_up("failed", "a case has a number of arguments that the driver was not made for");
        ++case_number;
        at = stop + 1;
    }
    verifier_leave(0);
}

}  // namespace verifier_driver

void verifier_serve();

int main() { verifier_serve(); }
