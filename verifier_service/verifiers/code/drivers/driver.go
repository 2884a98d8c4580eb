
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
	call := callee.Call
	for index, item := range given {
		var wanted verifier_reflect.Type
		if index < fixed {
			wanted = kind.In(index)
		} else {
			wanted = kind.In(fixed).Elem()
		}
		value := verifier_reflect.New(wanted).Elem()
		if !verifierFill(item, value) {
			whole := index == fixed && len(given) == kind.NumIn() // an array for all of `...`
			if whole {
				value, call = verifier_reflect.New(kind.In(index)).Elem(), callee.CallSlice
			}
			if !whole || !verifierFill(item, value) {
				verifierGiveUp("failed", verifier_fmt.Sprintf("argument %d can't be given as %s", index+1, wanted))
			}
		}
		arguments = append(arguments, value)
	}
	results := call(arguments)
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
