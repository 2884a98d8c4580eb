/**
 * Values from JSON, of the types that the submission's parameters have, and the driver's words to its reader.
 * The class stands in the submission's file, so other classes go by their full names.
 */
class VerifierValues {
    static final int MOST_NODES = 200000, MOST_DEPTH = 2000;
    static final java.io.PrintStream OUT = new java.io.PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
    static final Object GAP = new Object();  // in a tree's level order
    static int caseNumber = 0;

    /** A number of JSON as it was spelled. */
    static final class Spelled {
        final String text;
        Spelled(String text) { this.text = text; }
        boolean isInteger() { return text.indexOf('.') < 0 && text.indexOf('e') < 0 && text.indexOf('E') < 0; }
        java.math.BigInteger integer() {
            return isInteger() ? new java.math.BigInteger(text) : new java.math.BigDecimal(text).toBigIntegerExact();
        }
    }

    /** A value that a type can't take, or that JSON can't have. */
    static final class Unfit extends RuntimeException {
        Unfit(String why) { super(why, null, false, false); }
    }

    static void report(String kind, String json) {
        System.out.flush();
        byte[] line = ("\n\u001everifier-driver " + caseNumber + " " + kind + " " + json + "\n").getBytes(java.nio.charset.StandardCharsets.UTF_8);
        OUT.write(line, 0, line.length);
        OUT.flush();
    }

    static void giveUp(String kind, String why) {
        StringBuilder json = new StringBuilder();
        quote(json, why);
        report(kind, json.toString());
        Runtime.getRuntime().halt(1);
    }

    static void quote(StringBuilder out, String text) {
        out.append('"');
        for (int index = 0; index < text.length(); index++) {
            char c = text.charAt(index);
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < 0x20 || Character.isSurrogate(c)) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        out.append('"');
    }

    static RuntimeException raised(ReflectiveOperationException error) {
        System.out.flush();
        Throwable cause = error instanceof java.lang.reflect.InvocationTargetException ? error.getCause() : error;
        System.err.print("Exception in thread \"main\" ");
        cause.printStackTrace();
        System.err.flush();
        Runtime.getRuntime().halt(1);
        return new Unfit("");
    }

    // ---- JSON in

    static final class Parser {
        final String text;
        int at = 0;
        Parser(String text) { this.text = text; }

        Object value() {
            char c = peek();
            if (c == '"') return string();
            if (c == '[') return array();
            if (c == '{') return object();
            int start = at;
            while (at < text.length() && ",]} \t\r".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(start, at);
            if (word.equals("null")) return null;
            if (word.equals("true")) return Boolean.TRUE;
            if (word.equals("false")) return Boolean.FALSE;
            return new Spelled(word);
        }
        char peek() {
            while (text.charAt(at) == ' ') at++;
            return text.charAt(at);
        }
        boolean take(char wanted) {
            if (peek() != wanted) return false;
            at++;
            return true;
        }
        java.util.ArrayList<Object> array() {
            java.util.ArrayList<Object> items = new java.util.ArrayList<>();
            at++;
            if (take(']')) return items;
            do items.add(value()); while (take(','));
            at++;
            return items;
        }
        java.util.LinkedHashMap<String, Object> object() {
            java.util.LinkedHashMap<String, Object> items = new java.util.LinkedHashMap<>();
            at++;
            if (take('}')) return items;
            do {
                peek();
                String name = string();
                take(':');
                items.put(name, value());
            } while (take(','));
            at++;
            return items;
        }
        String string() {
            StringBuilder out = new StringBuilder();
            for (at++; ; at++) {
                char c = text.charAt(at);
                if (c == '"') break;
                if (c != '\\') {
                    out.append(c);
                    continue;
                }
                c = text.charAt(++at);
                int known = "nrtbf".indexOf(c);
                if (known >= 0) out.append("\n\r\t\b\f".charAt(known));
                else if (c == 'u') {
                    out.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                } else out.append(c);
            }
            at++;
            return out.toString();
        }
    }

    // ---- arguments of their types

    static Object convert(Object json, java.lang.reflect.Type type) {
        if (type instanceof java.lang.reflect.ParameterizedType) {
            java.lang.reflect.ParameterizedType generic = (java.lang.reflect.ParameterizedType) type;
            return generic(json, (Class<?>) generic.getRawType(), generic.getActualTypeArguments());
        }
        if (type instanceof java.lang.reflect.GenericArrayType)
            return array(json, ((java.lang.reflect.GenericArrayType) type).getGenericComponentType());
        if (type instanceof java.lang.reflect.WildcardType) return convert(json, ((java.lang.reflect.WildcardType) type).getUpperBounds()[0]);
        if (type instanceof java.lang.reflect.TypeVariable) {
            java.lang.reflect.Type bound = ((java.lang.reflect.TypeVariable<?>) type).getBounds()[0];
            boolean scalar = json instanceof Spelled || json instanceof String;  // such as T extends Comparable<T>
            return scalar && raw(bound).isAssignableFrom(json instanceof String ? String.class : Integer.class) ? natural(json) : convert(json, bound);
        }
        Class<?> kind = (Class<?>) type;
        if (kind.isArray()) return array(json, kind.getComponentType());
        if (json == null) {
            if (kind.isPrimitive()) throw new Unfit(kind.getSimpleName());
            return null;
        }
        if (kind == boolean.class || kind == Boolean.class) return need(json, Boolean.class, "boolean");
        if (kind == char.class || kind == Character.class) {
            String text = need(json, String.class, "char");
            if (text.length() != 1) throw new Unfit("char");
            return text.charAt(0);
        }
        if (kind.isAssignableFrom(String.class) && json instanceof String) return json;
        if (kind == StringBuilder.class) return new StringBuilder(need(json, String.class, "String"));
        if (kind.isPrimitive() || (Number.class.isAssignableFrom(kind) && kind != Number.class)) return number(need(json, Spelled.class, kind.getSimpleName()), kind);
        if (fields(kind, "val", "next") || fields(kind, "val", "left", "right")) return nodes(need(json, java.util.ArrayList.class, kind.getSimpleName()), kind);
        if (kind.isInstance(json)) {
            if (kind == Object.class || json instanceof java.util.Collection || json instanceof java.util.Map) return natural(json);
        }
        if (json instanceof Spelled && kind.isAssignableFrom(Integer.class)) return natural(json);
        return generic(json, kind, new java.lang.reflect.Type[] {Object.class, Object.class});
    }

    static <T> T need(Object json, Class<T> kind, String wanted) {
        if (!kind.isInstance(json)) throw new Unfit(wanted);
        return kind.cast(json);
    }

    static Object number(Spelled json, Class<?> kind) {
        try {
            if (kind == int.class || kind == Integer.class) return json.integer().intValueExact();
            if (kind == long.class || kind == Long.class) return json.integer().longValueExact();
            if (kind == double.class || kind == Double.class) return Double.valueOf(json.text);
            if (kind == float.class || kind == Float.class) return Float.valueOf(json.text);
            if (kind == short.class || kind == Short.class) return json.integer().shortValueExact();
            if (kind == byte.class || kind == Byte.class) return json.integer().byteValueExact();
            if (kind == java.math.BigInteger.class) return json.integer();
            if (kind == java.math.BigDecimal.class) return new java.math.BigDecimal(json.text);
        } catch (ArithmeticException | NumberFormatException error) {
            throw new Unfit(kind.getSimpleName());
        }
        throw new Unfit(kind.getSimpleName());
    }

    /** For a parameter that takes anything. */
    static Object natural(Object json) {
        if (json instanceof Spelled) {
            Spelled number = (Spelled) json;
            if (!number.isInteger()) return Double.valueOf(number.text);
            java.math.BigInteger value = number.integer();
            if (value.bitLength() < 32) return value.intValue();
            return value.bitLength() < 64 ? (Object) value.longValue() : value;
        }
        if (json instanceof java.util.List) return generic(json, java.util.List.class, new java.lang.reflect.Type[] {Object.class});
        if (json instanceof java.util.Map) return generic(json, java.util.Map.class, new java.lang.reflect.Type[] {String.class, Object.class});
        return json;
    }

    static Object array(Object json, java.lang.reflect.Type component) {
        if (json == null) return null;
        java.util.List<?> items = need(json, java.util.ArrayList.class, "array");
        Object out = java.lang.reflect.Array.newInstance(raw(component), items.size());
        for (int index = 0; index < items.size(); index++) java.lang.reflect.Array.set(out, index, convert(items.get(index), component));
        return out;
    }

    static Class<?> raw(java.lang.reflect.Type type) {
        if (type instanceof Class) return (Class<?>) type;
        if (type instanceof java.lang.reflect.ParameterizedType) return raw(((java.lang.reflect.ParameterizedType) type).getRawType());
        if (type instanceof java.lang.reflect.GenericArrayType)
            return java.lang.reflect.Array.newInstance(raw(((java.lang.reflect.GenericArrayType) type).getGenericComponentType()), 0).getClass();
        if (type instanceof java.lang.reflect.TypeVariable) return raw(((java.lang.reflect.TypeVariable<?>) type).getBounds()[0]);
        return Object.class;
    }

    @SuppressWarnings("unchecked")
    static Object generic(Object json, Class<?> kind, java.lang.reflect.Type[] of) {
        if (kind == java.util.Optional.class) return json == null ? java.util.Optional.empty() : java.util.Optional.of(convert(json, of[0]));
        if (json == null) return null;
        Class<?>[] collections = {kind, java.util.ArrayList.class, java.util.LinkedHashSet.class, java.util.LinkedList.class, java.util.TreeSet.class};
        Class<?>[] maps = {kind, java.util.LinkedHashMap.class, java.util.TreeMap.class};
        if (json instanceof java.util.Map) {
            java.util.Map<Object, Object> out = (java.util.Map<Object, Object>) first(kind, maps);
            for (java.util.Map.Entry<?, ?> entry : ((java.util.Map<?, ?>) json).entrySet())
                out.put(key((String) entry.getKey(), of[0]), convert(entry.getValue(), of[1]));
            return out;
        }
        if (json instanceof java.util.ArrayList) {
            java.util.Collection<Object> out = (java.util.Collection<Object>) first(kind, collections);
            for (Object item : (java.util.ArrayList<?>) json) out.add(convert(item, of[0]));
            return out;
        }
        throw new Unfit(kind.getSimpleName());
    }

    /** JSON has no keys but strings. */
    static Object key(String name, java.lang.reflect.Type type) {
        boolean number = type instanceof Class && Number.class.isAssignableFrom((Class<?>) type);
        return convert(number ? new Spelled(name) : name, type);
    }

    static Object first(Class<?> wanted, Class<?>[] kinds) {
        for (Class<?> one : kinds) {
            boolean makes = java.util.Collection.class.isAssignableFrom(one) || java.util.Map.class.isAssignableFrom(one);
            if (wanted.isAssignableFrom(one) && makes && !java.lang.reflect.Modifier.isAbstract(one.getModifiers())) return make(one);
        }
        throw new Unfit(wanted.getSimpleName());
    }

    static Object make(Class<?> kind) {
        try {
            java.lang.reflect.Constructor<?>[] all = kind.getDeclaredConstructors();
            java.util.Arrays.sort(all, java.util.Comparator.comparingInt(one -> one.getParameterCount()));
            for (java.lang.reflect.Constructor<?> one : all) {
                boolean inner = one.getParameterCount() == 1 && one.getParameterTypes()[0] == kind.getDeclaringClass();
                if (one.getParameterCount() > 0 && !inner) continue;
                if (!kind.getName().startsWith("java.")) one.setAccessible(true);
                return inner ? one.newInstance(make(kind.getDeclaringClass())) : one.newInstance();
            }
        } catch (ReflectiveOperationException error) {
            throw raised(error);
        }
        throw new Unfit(kind.getSimpleName() + " (it has no constructor without parameters)");
    }

    // ---- linked lists and binary trees as contest sites write them, whoever defines them

    static boolean fields(Class<?> kind, String... names) {
        if (kind.getName().startsWith("java.")) return false;
        for (String name : names) {
            try {
                kind.getDeclaredField(name);
            } catch (NoSuchFieldException error) {
                return false;
            }
        }
        return true;
    }

    static Object get(Object node, String name) {
        try {
            java.lang.reflect.Field field = node.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(node);
        } catch (ReflectiveOperationException error) {
            throw new Unfit(node.getClass().getSimpleName());
        }
    }

    static void set(Object node, String name, Object value) {
        try {
            java.lang.reflect.Field field = node.getClass().getDeclaredField(name);
            field.setAccessible(true);
            field.set(node, value);
        } catch (ReflectiveOperationException error) {
            throw new Unfit(node.getClass().getSimpleName());
        }
    }

    static Object node(Class<?> kind, Object json) {
        try {
            Object value = convert(json, kind.getDeclaredField("val").getGenericType());
            Object made = null;
            for (java.lang.reflect.Constructor<?> one : kind.getDeclaredConstructors()) {
                one.setAccessible(true);
                if (one.getParameterCount() == 0) made = one.newInstance();
                else if (one.getParameterCount() == 1 && made == null) made = one.newInstance(convert(json, one.getGenericParameterTypes()[0]));
            }
            if (made == null) throw new Unfit(kind.getSimpleName());
            set(made, "val", value);
            return made;
        } catch (ReflectiveOperationException error) {
            throw raised(error);
        }
    }

    static Object nodes(java.util.ArrayList<?> values, Class<?> kind) {
        if (values.isEmpty() || values.get(0) == null) return null;
        Object head = node(kind, values.get(0));
        if (!fields(kind, "left")) {
            Object last = head;
            for (Object value : values.subList(1, values.size())) {
                Object next = node(kind, value);
                set(last, "next", next);
                last = next;
            }
            return head;
        }
        java.util.ArrayList<Object> all = new java.util.ArrayList<>();
        all.add(head);
        for (int index = 1; index < values.size() && (index - 1) / 2 < all.size(); index++) {
            if (values.get(index) == null) continue;
            Object child = node(kind, values.get(index));
            set(all.get((index - 1) / 2), index % 2 == 1 ? "left" : "right", child);
            all.add(child);
        }
        return head;
    }

    static java.util.List<Object> values(Object root) {
        java.util.ArrayList<Object> out = new java.util.ArrayList<>();
        if (!fields(root.getClass(), "left")) {
            for (Object node = root; node != null; node = get(node, "next")) {
                if (out.size() >= MOST_NODES) giveUp("failed", "the result is a linked list without end");
                out.add(get(node, "val"));
            }
            return out;
        }
        java.util.ArrayList<Object> waiting = new java.util.ArrayList<>();
        waiting.add(root);
        for (int index = 0; index < waiting.size(); index++) {
            if (index >= MOST_NODES) giveUp("failed", "the result is a tree without end");
            Object node = waiting.get(index);
            out.add(node == null ? GAP : get(node, "val"));
            if (node == null) continue;
            waiting.add(get(node, "left"));
            waiting.add(get(node, "right"));
        }
        while (!out.isEmpty() && out.get(out.size() - 1) == GAP) out.remove(out.size() - 1);
        return out;
    }
}
