// Calls the submission's entry point with arguments that come as JSON, one line a case, and writes each result as JSON.
//
// This text stands before the submission, since that may define macros; what follows it is as short as can be. Parameter
// types are deduced from the address of the function or method. Nothing here knows what a result should be.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace verifier_driver {

// Under names of our own: the submission may have a `write` or a `dup`.
extern "C" long verifier_write(int, const void*, unsigned long) __asm__("write");
extern "C" int verifier_dup(int) __asm__("dup");
extern "C" [[noreturn]] void verifier_leave(int) __asm__("_exit");

constexpr unsigned long most_nodes = 200000;
inline int channel = 1;  // stdout as it was at the start, whatever the submission does to it
inline int case_number = 0;

inline void report(const char* kind, const std::string& json) {
    std::cout.flush();
    std::fflush(nullptr);
    std::string line = "\n\x1everifier-driver " + std::to_string(case_number) + " " + kind + " " + json + "\n";
    for (unsigned long done = 0; done < line.size();) {
        long wrote = verifier_write(channel, line.data() + done, line.size() - done);
        if (wrote <= 0) verifier_leave(1);
        done += static_cast<unsigned long>(wrote);
    }
}

inline void quote(std::string& out, std::string_view text) {
    static const char hex[] = "0123456789abcdef";
    out += '"';
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20) {
            out += "\\u00";
            out += hex[byte >> 4];
            out += hex[byte & 15];
        } else {
            out += c;
        }
    }
    out += '"';
}

[[noreturn]] inline void give_up(const char* kind, const std::string& why) {
    std::string json;
    quote(json, why);
    report(kind, json);
    verifier_leave(1);
}

// ---- arguments

struct Reader {
    const char* at;
    const char* end;
    int argument = 0;

    [[noreturn]] void refuse(const std::string& wanted) const {
        give_up("failed", "argument " + std::to_string(argument) + " can't be given as " + wanted);
    }
    char peek() {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
        return at < end ? *at : '\0';
    }
    bool take(char wanted) {
        if (peek() != wanted) return false;
        ++at;
        return true;
    }
    bool take_word(std::string_view word) {
        peek();
        if (std::string_view(at, static_cast<unsigned long>(end - at)).substr(0, word.size()) != word) return false;
        at += word.size();
        return true;
    }
    std::string_view number(const char* wanted) {
        if (peek() != '-' && (*at < '0' || *at > '9')) refuse(wanted);
        const char* start = at;
        while (at < end && (std::string_view("+-.eE").find(*at) != std::string_view::npos || (*at >= '0' && *at <= '9'))) ++at;
        return {start, static_cast<unsigned long>(at - start)};
    }
    // Calls `item` at each item of an array.
    template <class Item> void items(const char* wanted, Item item) {
        if (!take('[')) refuse(wanted);
        if (take(']')) return;
        do item();
        while (take(','));
        if (!take(']')) refuse(wanted);
    }
    unsigned hex4() {
        unsigned value = 0;
        if (end - at < 4 || std::from_chars(at, at + 4, value, 16).ptr != at + 4) refuse("a string");
        at += 4;
        return value;
    }
    std::string text(const char* wanted) {
        if (!take('"')) refuse(wanted);
        std::string out;
        for (;;) {
            const char* start = at;
            while (at < end && *at != '"' && *at != '\\') ++at;
            out.append(start, at);
            if (at >= end) refuse(wanted);
            if (*at++ == '"') return out;
            char escape = at < end ? *at++ : '"';
            switch (escape) {
                case 'n': out += '\n'; break;
                case 't': out += '\t'; break;
                case 'r': out += '\r'; break;
                case 'b': out += '\b'; break;
                case 'f': out += '\f'; break;
                case 'u': code_point(out); break;
                default: out += escape;
            }
        }
    }
    void code_point(std::string& out) {
        unsigned code = hex4();
        if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
            at += 2;
            code = 0x10000 + ((code - 0xd800) << 10) + (hex4() - 0xdc00);
        }
        auto byte = [&](unsigned bits) { out += static_cast<char>(bits); };
        if (code < 0x80) return byte(code);
        if (code < 0x800) {
            byte(0xc0 | (code >> 6));
        } else {
            if (code < 0x10000) {
                byte(0xe0 | (code >> 12));
            } else {
                byte(0xf0 | (code >> 18));
                byte(0x80 | ((code >> 12) & 0x3f));
            }
            byte(0x80 | ((code >> 6) & 0x3f));
        }
        byte(0x80 | (code & 0x3f));
    }
};

template <class> inline constexpr bool never = false;

template <class T, class = void> struct From {
    static_assert(never<T>, "a parameter of the entry point has a type that JSON can't give");
    static T read(Reader&);
};

template <class T> T read(Reader& in) { return From<T>::read(in); }

template <> struct From<bool> {
    static bool read(Reader& in) {
        if (in.take_word("true")) return true;
        if (in.take_word("false")) return false;
        in.refuse("a bool");
    }
};

template <> struct From<char> {
    static char read(Reader& in) {
        std::string text = in.text("a char");
        if (text.size() != 1) in.refuse("a char");
        return text[0];
    }
};

template <class T>
inline constexpr bool is_number = (std::is_integral_v<T> || std::is_same_v<T, __int128> || std::is_same_v<T, unsigned __int128>) &&
                                  !std::is_same_v<T, bool> && !std::is_same_v<T, char>;

template <class T> struct From<T, std::enable_if_t<is_number<T>>> {
    static constexpr bool is_signed = T(-1) < T(0);

    static T read(Reader& in) {
        std::string_view token = in.number("an integer");
        if (token.find_first_of(".eE") != token.npos) return of_float(in, token);
        bool negative = token[0] == '-';
        if (negative) token.remove_prefix(1);
        T value = 0;  // kept negative where it is, as the least integer has no opposite
        for (char digit : token) {
            T one = T(digit - '0');
            if (__builtin_mul_overflow(value, T(10), &value)) in.refuse("an integer of this size");
            bool over = negative ? __builtin_sub_overflow(value, one, &value) : __builtin_add_overflow(value, one, &value);
            if (over) in.refuse("an integer of this size");
        }
        return value;
    }
    static T of_float(Reader& in, std::string_view token) {
        double value = 0;
        std::from_chars(token.data(), token.data() + token.size(), value);
        bool fits = value > -9.2e18 && value < 9.2e18 && (is_signed || value >= 0);
        if (!fits || double(static_cast<long long>(value)) != value) in.refuse("an integer");
        T narrow = static_cast<T>(static_cast<long long>(value));
        if (static_cast<long long>(narrow) != static_cast<long long>(value)) in.refuse("an integer of this size");
        return narrow;
    }
};

template <class T> struct From<T, std::enable_if_t<std::is_floating_point_v<T>>> {
    static T read(Reader& in) {
        std::string_view token = in.number("a number");
        T value = 0;
        auto done = std::from_chars(token.data(), token.data() + token.size(), value);
        if (done.ec == std::errc::result_out_of_range) {
            bool tiny = token.find("e-") != token.npos || token.find("E-") != token.npos;
            value = tiny ? T(0) : std::numeric_limits<T>::infinity();
            return token[0] == '-' ? -value : value;
        }
        return value;
    }
};

template <> struct From<std::string> {
    static std::string read(Reader& in) { return in.text("a string"); }
};

template <> struct From<char*> {
    static char* read(Reader& in) { return (new std::string(in.text("a string")))->data(); }
};

template <> struct From<const char*> {
    static const char* read(Reader& in) { return From<char*>::read(in); }
};

template <> struct From<std::string_view> {
    static std::string_view read(Reader& in) { return *new std::string(in.text("a string")); }
};

template <class C> struct FromSequence {
    static C read(Reader& in) {
        C out;
        in.items("an array", [&] { out.insert(out.end(), verifier_driver::read<typename C::value_type>(in)); });
        return out;
    }
};

template <class... P> struct From<std::vector<P...>> : FromSequence<std::vector<P...>> {};
template <class... P> struct From<std::deque<P...>> : FromSequence<std::deque<P...>> {};
template <class... P> struct From<std::list<P...>> : FromSequence<std::list<P...>> {};
template <class... P> struct From<std::set<P...>> : FromSequence<std::set<P...>> {};
template <class... P> struct From<std::multiset<P...>> : FromSequence<std::multiset<P...>> {};
template <class... P> struct From<std::unordered_set<P...>> : FromSequence<std::unordered_set<P...>> {};
template <class... P> struct From<std::unordered_multiset<P...>> : FromSequence<std::unordered_multiset<P...>> {};

template <class T, std::size_t N> struct From<std::array<T, N>> {
    static std::array<T, N> read(Reader& in) {
        std::array<T, N> out{};
        std::size_t index = 0;
        in.items("an array", [&] {
            if (index == N) in.refuse("an array of this size");
            out[index++] = verifier_driver::read<T>(in);
        });
        if (index != N) in.refuse("an array of this size");
        return out;
    }
};

template <class T> struct From<std::optional<T>> {
    static std::optional<T> read(Reader& in) {
        if (in.take_word("null")) return std::nullopt;
        return verifier_driver::read<T>(in);
    }
};

template <class Tuple> struct FromTuple {
    static Tuple read(Reader& in) {
        if (!in.take('[')) in.refuse("a tuple");
        Tuple out = all(in, std::make_index_sequence<std::tuple_size_v<Tuple>>());
        if (!in.take(']')) in.refuse("a tuple of this size");
        return out;
    }
    template <std::size_t... I> static Tuple all(Reader& in, std::index_sequence<I...>) {
        return Tuple{one<std::tuple_element_t<I, Tuple>>(in, I)...};
    }
    template <class T> static T one(Reader& in, std::size_t index) {
        if (index && !in.take(',')) in.refuse("a tuple of this size");
        return verifier_driver::read<T>(in);
    }
};

template <class A, class B> struct From<std::pair<A, B>> : FromTuple<std::pair<A, B>> {};
template <class... T> struct From<std::tuple<T...>> : FromTuple<std::tuple<T...>> {};

template <class M> struct FromMap {
    static M read(Reader& in) {
        M out;
        if (!in.take('{')) in.refuse("a map");
        if (in.take('}')) return out;
        do {
            std::string name = in.text("a map");
            using Key = typename M::key_type;
            if (!in.take(':')) in.refuse("a map");
            if constexpr (is_number<Key> || std::is_floating_point_v<Key>) {  // JSON has no keys but strings
                Reader inner{name.data(), name.data() + name.size(), in.argument};
                Key key = verifier_driver::read<Key>(inner);
                out.insert({std::move(key), verifier_driver::read<typename M::mapped_type>(in)});
            } else if constexpr (std::is_same_v<Key, char>) {
                if (name.size() != 1) in.refuse("a map with these keys");
                out.insert({name[0], verifier_driver::read<typename M::mapped_type>(in)});
            } else {
                out.insert({Key(std::move(name)), verifier_driver::read<typename M::mapped_type>(in)});
            }
        } while (in.take(','));
        if (!in.take('}')) in.refuse("a map");
        return out;
    }
};

template <class... P> struct From<std::map<P...>> : FromMap<std::map<P...>> {};
template <class... P> struct From<std::multimap<P...>> : FromMap<std::multimap<P...>> {};
template <class... P> struct From<std::unordered_map<P...>> : FromMap<std::unordered_map<P...>> {};

// ---- linked lists and binary trees as contest sites write them, whoever defines them

template <class N, class = void> struct is_list : std::false_type {};
template <class N> struct is_list<N, std::void_t<decltype(N::val), decltype(N::next)>> : std::true_type {};
template <class N, class = void> struct is_tree : std::false_type {};
template <class N> struct is_tree<N, std::void_t<decltype(N::val), decltype(N::left), decltype(N::right)>> : std::true_type {};

template <class N> N* make_node(Reader& in) {
    auto value = read<std::remove_cv_t<decltype(N::val)>>(in);
    if constexpr (std::is_constructible_v<N, decltype(value)>) {
        return new N(value);
    } else {
        N* node = new N();
        node->val = value;
        return node;
    }
}

template <class N> struct From<N*, std::enable_if_t<is_list<N>::value && !is_tree<N>::value>> {
    static N* read(Reader& in) {
        if (in.take_word("null")) return nullptr;
        N* head = nullptr;
        N* last = nullptr;
        in.items("a linked list", [&] {
            N* node = make_node<N>(in);
            node->next = nullptr;
            (last ? last->next : head) = node;
            last = node;
        });
        return head;
    }
};

template <class N> struct From<N*, std::enable_if_t<is_tree<N>::value>> {
    static N* read(Reader& in) {
        if (in.take_word("null")) return nullptr;
        std::vector<N*> nodes;
        std::size_t place = 0;  // two for each node, from the second item on
        in.items("a binary tree", [&] {
            N* node = in.take_word("null") ? nullptr : make_node<N>(in);
            if (node) node->left = node->right = nullptr;
            if (!nodes.empty()) {
                if (place / 2 >= nodes.size()) return;  // below a gap
                (place % 2 ? nodes[place / 2]->right : nodes[place / 2]->left) = node;
                ++place;
            }
            if (node) nodes.push_back(node);
        });
        return nodes.empty() ? nullptr : nodes[0];
    }
};

}  // namespace verifier_driver
