
// Calls the submission's entry point with arguments that come as JSON, one line a case, and writes each result as JSON.
// Nothing here knows what a result should be. This text stands in the submission's file, so every name has a prefix.

const verifierMostNodes = 200000
const verifierMostDepth = 2000

var verifierOut = verifier_os.Stdout
var verifierCase = 0
var verifierBytesAreNumbers = false // as they came; else they are characters
var verifierRunesAreText = false

func main() {
	input, _ := verifier_io.ReadAll(verifier_os.Stdin)
	callee := verifier_reflect.ValueOf(CALLEE)
	for _, line := range verifier_bytes.Split(input, []byte("\n")) {
		if len(line) > 0 {
			verifierAnswer(callee, line)
			verifierCase++
		}
	}
	verifier_os.Exit(0)
}

func verifierReport(kind string, json string) {
	verifierOut.WriteString("\n\x1everifier-driver " + verifier_strconv.Itoa(verifierCase) + " " + kind + " " + json + "\n")
}

func verifierGiveUp(kind string, why string) {
	json, _ := verifier_json.Marshal(why)
	verifierReport(kind, string(json))
	verifier_os.Exit(1)
}

func verifierAnswer(callee verifier_reflect.Value, line []byte) {
	decoder := verifier_json.NewDecoder(verifier_bytes.NewReader(line))
	decoder.UseNumber()
	var given []interface{}
	if decoder.Decode(&given) != nil || callee.Kind() != verifier_reflect.Func {
		verifierGiveUp("failed", "the entry point is not a function")
	}
	kind := callee.Type()
	fixed := kind.NumIn()
	if kind.IsVariadic() {
		fixed--
	}
	if len(given) < fixed || (len(given) > fixed && !kind.IsVariadic()) {
		verifierGiveUp("failed", verifier_fmt.Sprintf("the entry point takes %d arguments, not %d", kind.NumIn(), len(given)))
	}
	arguments := []verifier_reflect.Value{}
	for index, item := range given {
		var wanted verifier_reflect.Type
		if index < fixed {
			wanted = kind.In(index)
		} else {
			wanted = kind.In(fixed).Elem()
		}
		value := verifier_reflect.New(wanted).Elem()
		if !verifierFill(item, value) {
			verifierGiveUp("failed", verifier_fmt.Sprintf("argument %d can't be given as %s", index+1, wanted))
		}
		arguments = append(arguments, value)
	}
	results := callee.Call(arguments)
	if last := len(results) - 1; last >= 0 && kind.Out(last) == verifier_reflect.TypeOf((*error)(nil)).Elem() {
		if !results[last].IsNil() {
			verifier_fmt.Fprintln(verifier_os.Stderr, "the entry point returned an error:", results[last].Interface())
			verifier_os.Exit(1)
		}
		results = results[:last]
	}
	out := &verifier_bytes.Buffer{}
	switch {
	case INPLACE_ARG >= 0:
		verifierWrite(out, arguments[verifierPlace(INPLACE_ARG)], 0)
	case len(results) == 0:
		out.WriteString("null")
	case len(results) == 1:
		verifierWrite(out, results[0], 0)
	default:
		for index, result := range results {
			out.WriteByte("[,"[verifierSign(index)])
			verifierWrite(out, result, 0)
		}
		out.WriteByte(']')
	}
	verifierReport("answer", out.String())
}

func verifierPlace(index int) int {
	if index < 0 {
		return 0
	}
	return index
}

func verifierSign(index int) int {
	if index > 0 {
		return 1
	}
	return 0
}

// ---- arguments

func verifierIsList(kind verifier_reflect.Type) bool {
	return verifierHas(kind, "Val", "Next") && !verifierHas(kind, "Left")
}

func verifierIsTree(kind verifier_reflect.Type) bool {
	return verifierHas(kind, "Val", "Left", "Right")
}

func verifierHas(kind verifier_reflect.Type, names ...string) bool {
	if kind.Kind() != verifier_reflect.Ptr || kind.Elem().Kind() != verifier_reflect.Struct {
		return false
	}
	for _, name := range names {
		if _, found := kind.Elem().FieldByName(name); !found {
			return false
		}
	}
	return true
}

// verifierFill sets a value from JSON data; whether its type takes it.
func verifierFill(item interface{}, into verifier_reflect.Value) bool {
	kind := into.Type()
	if own, ok := into.Addr().Interface().(verifier_json.Unmarshaler); ok && item != nil {
		text, _ := verifier_json.Marshal(item)
		return own.UnmarshalJSON(text) == nil
	}
	if item == nil {
		switch kind.Kind() {
		case verifier_reflect.Ptr, verifier_reflect.Slice, verifier_reflect.Map, verifier_reflect.Interface:
			return true
		}
		return false
	}
	switch typed := item.(type) {
	case bool:
		if kind.Kind() == verifier_reflect.Bool {
			into.SetBool(typed)
			return true
		}
	case string:
		if verifierFillText(typed, into) {
			return true
		}
	case verifier_json.Number:
		if verifierFillNumber(string(typed), into) {
			return true
		}
	case []interface{}:
		if verifierFillItems(typed, into) {
			return true
		}
	case map[string]interface{}:
		if kind.Kind() == verifier_reflect.Map {
			return verifierFillMap(typed, into)
		}
		if kind.Kind() == verifier_reflect.Struct {
			text, _ := verifier_json.Marshal(typed)
			return verifier_json.Unmarshal(text, into.Addr().Interface()) == nil
		}
	}
	if kind.Kind() == verifier_reflect.Ptr && !verifierIsList(kind) && !verifierIsTree(kind) {
		into.Set(verifier_reflect.New(kind.Elem()))
		return verifierFill(item, into.Elem())
	}
	if kind.Kind() == verifier_reflect.Interface && kind.NumMethod() == 0 {
		into.Set(verifier_reflect.ValueOf(verifierNatural(item)))
		return true
	}
	return false
}

func verifierFillText(text string, into verifier_reflect.Value) bool {
	runes := []rune(text)
	switch kind := into.Type(); {
	case kind.Kind() == verifier_reflect.String:
		into.SetString(text)
	case kind.Kind() == verifier_reflect.Uint8 && len(text) == 1:
		into.SetUint(uint64(text[0]))
	case kind.Kind() == verifier_reflect.Int32 && len(runes) == 1:
		verifierRunesAreText = true
		into.SetInt(int64(runes[0]))
	case kind.Kind() == verifier_reflect.Slice && kind.Elem().Kind() == verifier_reflect.Uint8:
		into.SetBytes([]byte(text))
	default:
		return false
	}
	return true
}

func verifierFillNumber(text string, into verifier_reflect.Value) bool {
	whole := text
	if verifier_strings.ContainsAny(text, ".eE") {
		value, _ := verifier_strconv.ParseFloat(text, 64)
		whole = verifier_strconv.FormatFloat(value, 'f', -1, 64)
	}
	switch into.Kind() {
	case verifier_reflect.Int, verifier_reflect.Int8, verifier_reflect.Int16, verifier_reflect.Int32, verifier_reflect.Int64:
		value, err := verifier_strconv.ParseInt(whole, 10, 64)
		if err != nil || into.OverflowInt(value) {
			return false
		}
		into.SetInt(value)
	case verifier_reflect.Uint, verifier_reflect.Uint8, verifier_reflect.Uint16, verifier_reflect.Uint32, verifier_reflect.Uint64, verifier_reflect.Uintptr:
		value, err := verifier_strconv.ParseUint(whole, 10, 64)
		if err != nil || into.OverflowUint(value) {
			return false
		}
		verifierBytesAreNumbers = verifierBytesAreNumbers || into.Kind() == verifier_reflect.Uint8
		into.SetUint(value)
	case verifier_reflect.Float32, verifier_reflect.Float64:
		value, _ := verifier_strconv.ParseFloat(text, into.Type().Bits())
		into.SetFloat(value)
	default:
		return false
	}
	return true
}

func verifierFillItems(items []interface{}, into verifier_reflect.Value) bool {
	kind := into.Type()
	switch {
	case verifierIsList(kind) || verifierIsTree(kind):
		return verifierFillNodes(items, into)
	case kind.Kind() == verifier_reflect.Slice:
		into.Set(verifier_reflect.MakeSlice(kind, len(items), len(items)))
	case kind.Kind() != verifier_reflect.Array || kind.Len() != len(items):
		return false
	}
	for index, item := range items {
		if !verifierFill(item, into.Index(index)) {
			return false
		}
	}
	return true
}

func verifierFillMap(items map[string]interface{}, into verifier_reflect.Value) bool {
	kind := into.Type()
	into.Set(verifier_reflect.MakeMap(kind))
	for name, item := range items {
		key := verifier_reflect.New(kind.Key()).Elem()
		value := verifier_reflect.New(kind.Elem()).Elem()
		known := verifierFillText(name, key) || verifierFillNumber(name, key) // JSON has no keys but strings
		if !known || !verifierFill(item, value) {
			return false
		}
		into.SetMapIndex(key, value)
	}
	return true
}

func verifierNatural(item interface{}) interface{} {
	switch typed := item.(type) {
	case verifier_json.Number:
		if whole, err := verifier_strconv.Atoi(string(typed)); err == nil {
			return whole
		}
		value, _ := typed.Float64()
		return value
	case []interface{}:
		for index := range typed {
			typed[index] = verifierNatural(typed[index])
		}
	case map[string]interface{}:
		for name := range typed {
			typed[name] = verifierNatural(typed[name])
		}
	}
	return item
}

// verifierFillNodes makes a linked list or a binary tree as contest sites write them, whoever defines them.
func verifierFillNodes(items []interface{}, into verifier_reflect.Value) bool {
	kind := into.Type()
	nodes := []verifier_reflect.Value{}
	tree := verifierIsTree(kind)
	for index, item := range items {
		parent := index - 1
		if tree {
			parent = (index - 1) / 2
		}
		if item == nil && tree || index > 0 && parent >= len(nodes) {
			continue
		}
		node := verifier_reflect.New(kind.Elem())
		if !verifierFill(item, node.Elem().FieldByName("Val")) {
			return false
		}
		switch {
		case index == 0:
			into.Set(node)
		case !tree:
			nodes[parent].Elem().FieldByName("Next").Set(node)
		case index%2 == 1:
			nodes[parent].Elem().FieldByName("Left").Set(node)
		default:
			nodes[parent].Elem().FieldByName("Right").Set(node)
		}
		nodes = append(nodes, node)
	}
	return true
}

// ---- results

func verifierWrite(out *verifier_bytes.Buffer, value verifier_reflect.Value, depth int) {
	if depth > verifierMostDepth {
		verifierGiveUp("unwritable", "the result is nested too deeply")
	}
	if !value.IsValid() {
		out.WriteString("null")
		return
	}
	kind := value.Type()
	switch kind.Kind() {
	case verifier_reflect.Bool:
		out.WriteString(verifier_strconv.FormatBool(value.Bool()))
	case verifier_reflect.Int, verifier_reflect.Int8, verifier_reflect.Int16, verifier_reflect.Int64:
		out.WriteString(verifier_strconv.FormatInt(value.Int(), 10))
	case verifier_reflect.Int32:
		if verifierRunesAreText {
			verifierQuote(out, string(rune(value.Int())))
		} else {
			out.WriteString(verifier_strconv.FormatInt(value.Int(), 10))
		}
	case verifier_reflect.Uint8:
		if verifierBytesAreNumbers {
			out.WriteString(verifier_strconv.FormatUint(value.Uint(), 10))
		} else {
			verifierQuote(out, string(rune(value.Uint())))
		}
	case verifier_reflect.Uint, verifier_reflect.Uint16, verifier_reflect.Uint32, verifier_reflect.Uint64, verifier_reflect.Uintptr:
		out.WriteString(verifier_strconv.FormatUint(value.Uint(), 10))
	case verifier_reflect.Float32, verifier_reflect.Float64:
		out.WriteString(verifierFloat(value.Float(), kind.Bits()))
	case verifier_reflect.String:
		verifierQuote(out, value.String())
	case verifier_reflect.Slice, verifier_reflect.Array:
		out.WriteByte('[')
		for index := 0; index < value.Len(); index++ {
			if index > 0 {
				out.WriteByte(',')
			}
			verifierWrite(out, value.Index(index), depth+1)
		}
		out.WriteByte(']')
	case verifier_reflect.Map:
		verifierWriteMap(out, value, depth)
	case verifier_reflect.Interface:
		verifierWrite(out, value.Elem(), depth+1)
	case verifier_reflect.Ptr:
		verifierWritePointer(out, value, depth)
	case verifier_reflect.Struct:
		text, err := verifier_json.Marshal(value.Interface())
		if err != nil {
			verifierGiveUp("unwritable", "the result is a "+kind.String()+", which JSON can't have")
		}
		out.Write(text)
	default:
		verifierGiveUp("unwritable", "the result is a "+kind.String()+", which JSON can't have")
	}
}

func verifierQuote(out *verifier_bytes.Buffer, text string) {
	quoted, _ := verifier_json.Marshal(text)
	out.Write(quoted)
}

func verifierFloat(value float64, bits int) string {
	switch {
	case value != value:
		return "NaN"
	case value-value != 0 && value > 0:
		return "Infinity"
	case value-value != 0:
		return "-Infinity"
	}
	text := verifier_strconv.FormatFloat(value, 'g', -1, bits)
	if !verifier_strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

func verifierWriteMap(out *verifier_bytes.Buffer, value verifier_reflect.Value, depth int) {
	separator := "{"
	for _, key := range value.MapKeys() {
		name := &verifier_bytes.Buffer{}
		verifierWrite(name, key, depth+1)
		out.WriteString(separator)
		if name.Len() > 0 && name.Bytes()[0] == '"' {
			out.Write(name.Bytes())
		} else {
			verifierQuote(out, name.String())
		}
		out.WriteByte(':')
		verifierWrite(out, value.MapIndex(key), depth+1)
		separator = ","
	}
	if value.Len() == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
}

func verifierWritePointer(out *verifier_bytes.Buffer, value verifier_reflect.Value, depth int) {
	kind := value.Type()
	if !verifierIsList(kind) && !verifierIsTree(kind) {
		if own, ok := value.Interface().(verifier_json.Marshaler); ok && !value.IsNil() {
			text, _ := own.MarshalJSON()
			out.Write(text)
		} else if value.IsNil() {
			out.WriteString("null")
		} else {
			verifierWrite(out, value.Elem(), depth+1)
		}
		return
	}
	nodes := []verifier_reflect.Value{value}
	separator, gaps := "[", ""
	for index := 0; index < len(nodes); index++ {
		if index >= verifierMostNodes {
			verifierGiveUp("failed", "the result is a list or a tree without end")
		}
		if nodes[index].IsNil() {
			gaps += ",null" // written only if a node follows
			continue
		}
		node := nodes[index].Elem()
		out.WriteString(gaps + separator)
		verifierWrite(out, node.FieldByName("Val"), depth+1)
		separator, gaps = ",", ""
		if verifierIsTree(kind) {
			nodes = append(nodes, node.FieldByName("Left"), node.FieldByName("Right"))
		} else {
			nodes = append(nodes, node.FieldByName("Next"))
		}
	}
	if separator == "[" {
		out.WriteByte('[')
	}
	out.WriteByte(']')
}
